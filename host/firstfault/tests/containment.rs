//! A diagnosis that fails harms nothing but itself: the daemon, with a maker of diagnoses that panics and hangs on demand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use firstfault::notify::client::{Answer, exchange, post};
use firstfault_daemon::{DiagnoseError, Diagnoser, GenerationInfo, ReloadReport, Work, config};
use serde_json::{Value, json};

const LONGEST: Duration = Duration::from_secs(60);

/// Does what the workload's name says.
#[derive(Debug, Default)]
struct Moody {
    /// Those that hang are let go when the test ends.
    over: Mutex<bool>,
    ended: Condvar,
}

impl Diagnoser for Moody {
    fn diagnose(&self, work: Work) -> Result<firstfault_model::diagnosis::Diagnosis, DiagnoseError> {
        match work.context.name.as_deref() {
            Some("panic") => panic!("as it was asked"),
            Some("hang") => {
                drop(self.ended.wait_while(self.over.lock().unwrap(), |over| !*over).unwrap());
                Err(DiagnoseError("too late".into()))
            }
            Some("never") => Err(DiagnoseError("it can never be made".into())),
            _ => Ok(serde_json::from_str(include_str!("golden/cuda_oom.json")).unwrap()),
        }
    }

    fn generation(&self) -> GenerationInfo {
        GenerationInfo::default()
    }

    fn reload(&self) -> ReloadReport {
        panic!("as always")
    }

    fn folders(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }
}

fn get(socket: &Path, path: &str) -> Answer {
    exchange(socket, "GET".parse().unwrap(), path, &[], b"", LONGEST).unwrap()
}

fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn what_panics_or_hangs_is_parked_and_others_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display();
    let text = format!(
        "state = \"{at}/state\"\n[unix]\npath = \"{at}/ff.sock\"\n[[unix.allow]]\nusers = [\"*\"]\nroles = [\"admin\"]\n\
         [limits]\nworkers = 2\ndeadline = \"200ms\"\n"
    );
    let config = config::parse(&text, |_| None).unwrap();
    let moody = Arc::new(Moody::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let serving = runtime.spawn(firstfault_daemon::serve(config, Arc::clone(&moody) as Arc<dyn Diagnoser>));
    let socket = dir.path().join("ff.sock");
    let began = Instant::now();
    while !socket.exists() {
        assert!(began.elapsed() < LONGEST && !serving.is_finished());
        std::thread::yield_now();
    }
    let ask = |name: &str, id: usize| {
        let body = json!({"workload": {"id": id.to_string(), "name": name, "attempt": 1}});
        let answer = post(&socket, "/v1/diagnoses", body.to_string().as_bytes(), LONGEST).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
        json(&answer)["id"].as_str().unwrap().to_owned()
    };
    let bad: Vec<String> =
        ["panic", "hang", "never", "panic", "hang"].iter().zip(0..).map(|(name, id)| ask(name, id)).collect();
    // More than there are workers were bad, and the good one is made all the same.
    let good = ask("good", 100);
    assert_eq!(get(&socket, &format!("/v1/diagnoses/{good}?wait=60")).status, 200);
    for (id, reason) in bad.iter().zip([
        "as it was asked",
        "not done after",
        "never be made",
        "as it was asked",
        "not done after",
    ]) {
        // While it is tried again it is not made yet.
        let parked = loop {
            let answer = get(&socket, &format!("/v1/diagnoses/{id}?wait=60"));
            if answer.status != 202 {
                break answer;
            }
        };
        assert_eq!(parked.status, 409, "{}", parked.text());
        assert!(parked.text().contains(reason), "{}", parked.text());
    }
    let state = json(&get(&socket, &format!("/v1/diagnoses/{}/state", bad[0])));
    assert_eq!((&state["state"], &state["cuts"]), (&json!("parked"), &json!(3)));
    assert_eq!(post(&socket, "/v1/reload", b"{}", LONGEST).unwrap().status, 500);
    assert_eq!(get(&socket, "/readyz").status, 200);
    *moody.over.lock().unwrap() = true;
    moody.ended.notify_all();
    runtime.shutdown_timeout(Duration::from_secs(1));
}
