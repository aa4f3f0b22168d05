//! Takes what hooks have left in the spool folder because they could not hand it over.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::access;
use crate::api::submit;
use crate::app::App;
use crate::request::DiagnosisRequest;

/// How often the folder is looked at.
const EVERY: Duration = Duration::from_secs(2);
/// Most files of one look.
const MOST_FILES: usize = 1000;
/// Longest report.
const MOST_BYTES: u64 = 1 << 20;

/// Looks until the daemon stops.
pub(crate) async fn drain(app: App) {
    let Some(folder) = app.config.spool.clone() else { return };
    while !app.is_stopping() {
        for path in reports(&folder) {
            take(&app, &path).await;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Reports of the folder, the oldest names first.
fn reports(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    paths.sort();
    paths.truncate(MOST_FILES);
    paths
}

async fn take(app: &App, path: &Path) {
    let taken = match read(path) {
        Ok((uid, gid, request)) => {
            let allow = app.config.unix.as_ref().map_or(&[][..], |unix| &unix.allow);
            match access::peer(uid, gid, allow) {
                Some(principal) => {
                    submit(app, &principal, request).await.map(drop).map_err(|problem| format!("{problem:?}"))
                }
                None => Err(format!("user {uid}, who wrote it, may not submit")),
            }
        }
        Err(why) => Err(why),
    };
    match taken {
        Ok(()) => {
            app.metrics.spooled.inc();
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), "a report that was taken cannot be removed: {error}");
            }
        }
        Err(why) if why.contains("urn:firstfault:problem:unavailable") => {}
        Err(why) => {
            tracing::warn!(path = %path.display(), "a spooled report is set aside: {why}");
            let aside = path.with_extension("refused");
            if let Err(error) = fs::rename(path, &aside) {
                tracing::warn!(path = %path.display(), "it cannot be set aside: {error}");
            }
        }
    }
}

fn read(path: &Path) -> Result<(u32, u32, DiagnosisRequest), String> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(no_follow.bits()).unwrap_or(0);
    let file: File = File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|e| format!("it cannot be opened: {e}"))?;
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    let request = serde_json::from_slice(&bytes).map_err(|e| format!("it is no report: {e}"))?;
    Ok((metadata.uid(), metadata.gid(), request))
}
