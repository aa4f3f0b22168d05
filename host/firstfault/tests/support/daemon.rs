//! Runs the daemon in folders of its own, and asks it things.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use firstfault::notify::client::{Answer, exchange};
use serde_json::Value;
use tempfile::TempDir;

/// Longest time of anything: a machine may be slow, and a test that waits for ever tells nothing.
const LONGEST: Duration = Duration::from_secs(120);

/// The digest of the word `letmein`.
pub(crate) const TOKEN: &str = "letmein";

/// A daemon, its folders and what it listens on.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) dir: TempDir,
    more: String,
    process: Option<Child>,
    pub(crate) address: Option<SocketAddr>,
}

impl Daemon {
    /// Starts one whose granted root is `jobs`, and with more configuration.
    pub(crate) fn start(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("jobs")).unwrap();
        let mut daemon = Self { dir, more: more.to_owned(), process: None, address: None };
        daemon.restart();
        daemon
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("ff.sock")
    }

    /// Starts it again on the same folders.
    pub(crate) fn restart(&mut self) {
        let dir = self.dir.path().display();
        let digest = firstfault_daemon::access::token_digest(TOKEN);
        let more = self.more.replace("@", &dir.to_string());
        let config = format!(
            "state = \"{dir}/state\"\nspool = \"{dir}/spool\"\n[unix]\npath = \"{dir}/ff.sock\"\n[[unix.allow]]\nusers = [\"*\"]\n\
             roles = [\"admin\"]\ntrust = \"host\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n[[token]]\nname = \"launcher\"\n\
             sha256 = \"{digest}\"\nroles = [\"submit\", \"read_own\"]\n[[root]]\npath = \"{dir}/jobs\"\nshared = true\n{more}"
        );
        let file = self.path("firstfault.toml");
        std::fs::write(&file, config).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_firstfault"))
            .args(["serve", "--log-format", "json", "--config"])
            .arg(&file)
            .env_remove("FIRSTFAULT_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut told = String::new();
        loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the daemon did not start: {told}");
            told.push_str(&line);
            if line.contains("\"serving\"") {
                let address = line.split("http://").nth(1).unwrap().split(['"', '\\', ',']).next().unwrap();
                self.address = Some(address.parse().unwrap());
                break;
            }
        }
        // Read on, or it would wait for room in the pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        self.process = Some(process);
    }

    /// Ends it as the system would that runs out of memory.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Ends it as a service manager would. Whether it ended well.
    pub(crate) fn stop(&mut self) -> bool {
        let Some(mut process) = self.process.take() else { return false };
        let pid = rustix::process::Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        process.wait().unwrap().success()
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        exchange(&self.socket(), method.parse().unwrap(), path, headers, body, LONGEST).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// Copies a sample below the granted root.
    pub(crate) fn put(&self, sample: &str, name: &str) -> String {
        let to = self.path("jobs").join(name);
        copy(&crate::program::samples().join(sample), &to);
        to.display().to_string()
    }

    /// What a request on the TCP address is answered, as it is written.
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address.unwrap()).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        // It may be refused before all of it is sent.
        drop(stream.write_all(request));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks until the answer is as wanted.
    pub(crate) fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        let began = Instant::now();
        loop {
            let answer = self.get(path);
            if wanted(&answer) {
                return answer;
            }
            assert!(began.elapsed() < LONGEST, "{path} stays {}", answer.text());
            // Asking more often would only be told to come again later.
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An answer's body as JSON.
pub(crate) fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|e| panic!("{e}: {}", answer.text()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).map(|_| ()).unwrap()
        }
    }
}
