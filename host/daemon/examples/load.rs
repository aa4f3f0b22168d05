//! Loads a daemon from one process, and says how long it took to answer.
//!
//! ```text
//! load hooks SOCKET CONNECTIONS             one hook of each node of a large job, all at once
//! load observations SOCKET CONNECTIONS POSTS  one session, many pushes
//! load diagnoses SOCKET SECONDS PATH        small diagnoses, one after the other on four connections
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["hooks", socket, connections] => hooks(socket.into(), connections.parse()?).await,
        ["observations", socket, connections, posts] => {
            observations(socket.into(), connections.parse()?, posts.parse()?).await
        }
        ["diagnoses", socket, seconds, path] => {
            diagnoses(socket.into(), Duration::from_secs(seconds.parse()?), (*path).to_owned()).await
        }
        _ => Err("usage: load hooks|observations|diagnoses SOCKET ...".into()),
    }
}

async fn connect(socket: &Path) -> Result<SendRequest<Full<Bytes>>, Failure> {
    // A full queue of the socket refuses; a client comes again.
    let stream = loop {
        match UnixStream::connect(socket).await {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => tokio::task::yield_now().await,
            other => break other?,
        }
    };
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<(u16, Bytes), Failure> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

fn told(what: &str, mut times: Vec<Duration>, took: Duration) {
    times.sort();
    let at =
        |part: usize| times.get((times.len().saturating_sub(1)) * part / 1000).copied().unwrap_or_default();
    println!(
        "{what}: {} answers in {took:?}; p50 {:?}, p99 {:?}, most {:?}",
        times.len(),
        at(500),
        at(990),
        at(1000)
    );
}

async fn hooks(socket: PathBuf, connections: usize) -> Result<(), Failure> {
    let barrier = Arc::new(Barrier::new(connections));
    let mut tasks = JoinSet::new();
    for node in 0..connections {
        let (socket, barrier) = (socket.clone(), Arc::clone(&barrier));
        tasks.spawn(async move {
            let mut sender = connect(&socket).await?;
            let body = json!({
                "workload": {"scheduler": "slurm", "id": "4711", "start": "2026-11-02T20:14:07Z", "nodes": [{"name": format!("gpu-{node:04}")}]},
                "hook": {"kind": "slurm", "node": format!("gpu-{node:04}")},
            });
            barrier.wait().await;
            let began = Instant::now();
            let (status, answer) = ask(&mut sender, Method::POST, "/v1/diagnoses", &body).await?;
            let took = began.elapsed();
            if status != 202 {
                return Err(format!("{status}: {answer:?}").into());
            }
            let answer: Value = serde_json::from_slice(&answer)?;
            Ok::<_, Failure>((took, answer["id"].to_string()))
        });
    }
    let began = Instant::now();
    let (mut times, mut ids) = (Vec::new(), std::collections::BTreeSet::new());
    while let Some(done) = tasks.join_next().await {
        let (took, id) = done??;
        times.push(took);
        ids.insert(id);
    }
    told("hooks", times, began.elapsed());
    println!("diagnoses: {}", ids.len());
    Ok(())
}

async fn observations(socket: PathBuf, connections: usize, posts: usize) -> Result<(), Failure> {
    let mut sender = connect(&socket).await?;
    let workload = json!({"workload": {"scheduler": "slurm", "id": "4712", "start": "2026-11-02T20:14:07Z"}});
    let (_, opened) = ask(&mut sender, Method::POST, "/v1/sessions", &workload).await?;
    let opened: Value = serde_json::from_slice(&opened)?;
    let session = opened["id"].as_str().ok_or("no session")?.to_owned();
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (socket, next, session) = (socket.clone(), Arc::clone(&next), session.clone());
        tasks.spawn(async move {
            let mut sender = connect(&socket).await?;
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= posts {
                    return Ok::<_, Failure>(times);
                }
                let line = json!({"node": format!("gpu-{:04}", number % 1250), "source": "kernel", "time": 1_793_651_000_000_000_000_i64 + number as i64,
                                  "line": format!("NVRM: Xid (PCI:0000:c4:00): 31, pid={number}, name=python3")});
                let began = Instant::now();
                let (status, answer) =
                    ask(&mut sender, Method::POST, &format!("/v1/sessions/{session}/observations"), &line).await?;
                if status != 200 {
                    return Err(format!("{status}: {answer:?}").into());
                }
                times.push(began.elapsed());
            }
        });
    }
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        times.extend(done??);
    }
    told("observations", times, began.elapsed());
    let began = Instant::now();
    let (status, answer) =
        ask(&mut sender, Method::GET, &format!("/v1/sessions/{session}/diagnosis?wait=60"), &Value::Null)
            .await?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let lines: u64 = answer["coverage"]
        .as_array()
        .map(|all| all.iter().filter_map(|c| c["lines"].as_u64()).sum())
        .unwrap_or_default();
    println!("diagnosis: {status} after {:?}, {lines} lines read", began.elapsed());
    Ok(())
}

async fn diagnoses(socket: PathBuf, time: Duration, path: String) -> Result<(), Failure> {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for connection in 0..4 {
        let (socket, path) = (socket.clone(), path.clone());
        tasks.spawn(async move {
            let mut sender = connect(&socket).await?;
            let mut times = Vec::new();
            while began.elapsed() < time {
                let id = format!("{connection}-{}", times.len());
                let body = json!({"workload": {"id": id, "attempt": 1}, "paths": [path]});
                let began = Instant::now();
                let (status, answer) = ask(&mut sender, Method::POST, "/v1/diagnoses?wait=60", &body).await?;
                if status != 200 {
                    return Err(format!("{status}: {answer:?}").into());
                }
                times.push(began.elapsed());
            }
            Ok::<_, Failure>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        times.extend(done??);
    }
    told("diagnoses", times, began.elapsed());
    Ok(())
}
