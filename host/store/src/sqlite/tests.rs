use super::*;
use crate::{Identity, Revised, State, Status};

fn store() -> (tempfile::TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("store.sqlite")).unwrap();
    (dir, store)
}

fn report(workload: &str, start: i64, body: &str) -> NewReport {
    NewReport {
        identity: Identity { workload: workload.into(), start: Some(start), ..Identity::default() },
        body: body.into(),
        submitter: "root".into(),
        owner: Some("ada".into()),
        trusted: true,
        due_in: Some(0),
        news: true,
    }
}

fn take(store: &SqliteStore, report: &NewReport) -> Accepted {
    store.accept(std::slice::from_ref(report), 10).unwrap().remove(0).unwrap()
}

fn revised(next: Option<i64>) -> Outcome {
    let status = if next.is_some() { Status::Provisional } else { Status::Final };
    Outcome::Revised(Box::new(Revised {
        status,
        document: "{\"x\":1}".into(),
        digest: "sha256:1".into(),
        verdict: "attributed".into(),
        summary: "a link failed".into(),
        nodes: vec![("gpu-1".into(), "xid.79".into())],
        at: 5,
        next,
    }))
}

#[test]
fn reports_of_one_attempt_make_one_diagnosis() {
    let (_dir, store) = store();
    let first = take(&store, &report("7", 1000, "a"));
    assert!(first.created);
    for body in ["a", "b", "c", "b"] {
        let again = take(&store, &report("7", 1000, body));
        assert_eq!((again.entry.id.as_str(), again.created), (first.entry.id.as_str(), false));
    }
    assert_ne!(take(&store, &report("7", 2000, "a")).entry.id, first.entry.id, "another attempt");
    let leased = store.lease("me", 10).unwrap().unwrap();
    assert_eq!(
        leased.reports.iter().map(|r| r.0.as_str()).collect::<std::collections::BTreeSet<_>>().len(),
        3
    );
}

#[test]
fn a_hook_wakes_what_a_session_has_opened() {
    for body in ["the session's own", "another"] {
        let (_dir, store) = store();
        take(&store, &NewReport { due_in: None, ..report("7", 1000, "the session's own") });
        assert!(store.lease("me", 10).unwrap().is_none());
        take(&store, &NewReport { news: false, ..report("7", 1000, body) });
        assert!(store.lease("me", 10).unwrap().is_some(), "{body}");
    }
}

#[test]
fn a_lease_is_held_by_one_and_ends_once() {
    let (_dir, store) = store();
    take(&store, &report("7", 1000, "a"));
    let leased = store.lease("me", 10).unwrap().unwrap();
    assert!(store.lease("you", 10).unwrap().is_none());
    assert!(store.complete(&leased.lease, &revised(None), 11).unwrap());
    assert!(!store.complete(&leased.lease, &revised(None), 12).unwrap());
    let entry = store.entry(&leased.lease.id).unwrap().unwrap();
    assert_eq!((entry.state, entry.revision, entry.status), (State::Done, 1, Some(Status::Final)));
    assert_eq!(store.document(&entry.id, None).unwrap().unwrap().text, "{\"x\":1}");
    assert_eq!(store.history("gpu-1", None, 10).unwrap().items[0].symptom, "xid.79");
}

#[test]
fn what_comes_in_meanwhile_is_looked_at_next() {
    let (_dir, store) = store();
    take(&store, &report("7", 1000, "a"));
    let leased = store.lease("me", 10).unwrap().unwrap();
    take(&store, &report("7", 1000, "b"));
    store.complete(&leased.lease, &revised(None), 11).unwrap();
    let next = store.lease("me", 11).unwrap().unwrap();
    assert_eq!((next.reports.len(), next.entry.revision), (2, 1));
    store.complete(&next.lease, &revised(Some(99)), 12).unwrap();
    assert!(store.lease("me", 98).unwrap().is_none());
    assert!(store.lease("me", 99).unwrap().is_some());
}

#[test]
fn what_was_cut_off_three_times_is_parked_and_can_be_run_again() {
    let (dir, store) = store();
    let id = take(&store, &report("7", 1000, "a")).entry.id;
    let mut store = store;
    for life in 0..3 {
        assert!(store.lease(&format!("life {life}"), 10).unwrap().is_some());
        drop(store);
        store = SqliteStore::open(&dir.path().join("store.sqlite")).unwrap();
        assert_eq!(store.recover(&format!("life {}", life + 1), 10).unwrap(), 1);
    }
    let entry = store.entry(&id).unwrap().unwrap();
    assert_eq!((entry.state, entry.cuts), (State::Parked, 3));
    assert!(entry.reason.unwrap().contains("3 times"));
    assert!(store.lease("me", 10).unwrap().is_none());
    assert!(store.retry(&id, 11).unwrap());
    assert_eq!(store.lease("me", 11).unwrap().unwrap().entry.cuts, 0);
}

#[test]
fn what_is_given_back_does_not_count_as_cut() {
    let (_dir, store) = store();
    let id = take(&store, &report("7", 1000, "a")).entry.id;
    for _ in 0..5 {
        store.lease("me", 10).unwrap().unwrap();
        assert_eq!(store.release("me", 10).unwrap(), 1);
    }
    assert_eq!(store.entry(&id).unwrap().unwrap().cuts, 0);
}

#[test]
fn a_stranger_cannot_join_and_the_operator_puts_one_out() {
    let (_dir, store) = store();
    let mut eve = report("7", 1000, "evil");
    eve.trusted = false;
    eve.owner = Some("eve".into());
    take(&store, &eve);
    take(&store, &report("7", 1000, "true"));
    let refused = store.accept(&[NewReport { body: "more".into(), ..eve }], 10).unwrap().remove(0);
    assert_eq!(refused, Err(Refusal::NotYours));
    let leased = store.lease("me", 10).unwrap().unwrap();
    assert_eq!(leased.entry.owner.as_deref(), Some("ada"));
    assert_eq!(leased.reports, [("true".to_owned(), "root".to_owned(), true)]);
}

#[test]
fn pages_go_through_all_of_it_once() {
    let (_dir, store) = store();
    for n in 0..25 {
        take(&store, &report(&n.to_string(), 1000, "a"));
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.list(&Filter::default(), before, 10).unwrap();
        seen.extend(page.items.into_iter().map(|e| e.identity.workload));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..25).rev().map(|n| n.to_string()).collect::<Vec<_>>());
    let none = Filter { reader: Some("bob".into()), ..Filter::default() };
    assert!(store.list(&none, None, 10).unwrap().items.is_empty());
}

#[test]
fn observations_are_kept_once_and_within_bounds() {
    let (_dir, store) = store();
    let id = take(&store, &NewReport { due_in: None, ..report("7", 1000, "a") }).entry.id;
    assert!(store.lease("me", 10).unwrap().is_none(), "nobody has asked");
    let session = Session {
        id: "s-1".into(),
        diagnosis: id.clone(),
        owner: "root".into(),
        most_bytes: 10,
        bytes: 0,
        count: 0,
    };
    store.open_session(&session, 10).unwrap();
    let one = |id: &str, body: &[u8]| NewObservation {
        session: "s-1".into(),
        id: id.into(),
        body: body.to_vec(),
        due_in: None,
    };
    let other = NewObservation { session: "none".into(), ..one("a", b"") };
    let answers = store
        .observe(&[one("b", b"12345"), one("a", b"123"), one("b", b"12345"), one("c", b"123"), other], 10);
    use Observed::*;
    assert_eq!(answers.unwrap(), [Kept, Kept, Known, TooMuch, NoSession]);
    let mut seen = Vec::new();
    store.observations(&id, &mut |id, body| seen.push((id.to_owned(), body.len()))).unwrap();
    assert_eq!(seen, [("a".to_owned(), 3), ("b".to_owned(), 5)]);
    assert!(store.ask(&id, 11).unwrap());
    let leased = store.lease("me", 11).unwrap().unwrap();
    assert_eq!(leased.lease.wanted, 3);
    store.complete(&leased.lease, &revised(None), 12).unwrap();
    assert!(store.ask(&id, 13).unwrap());
    assert!(store.lease("me", 13).unwrap().is_none(), "nothing is new");
}

#[test]
fn retention_leaves_what_is_not_done() {
    let (_dir, store) = store();
    take(&store, &report("done", 1000, "a"));
    let leased = store.lease("me", 10).unwrap().unwrap();
    store.complete(&leased.lease, &revised(None), 10).unwrap();
    let queued = take(&store, &report("queued", 1000, "a")).entry.id;
    let policy = Policy { age: 100, bytes: u64::MAX };
    assert_eq!(store.retain(&policy, 50).unwrap(), Removed::default());
    assert_eq!(store.retain(&policy, 500).unwrap().old, 1);
    assert!(store.document(&leased.lease.id, None).unwrap().is_none());
    assert!(store.history("gpu-1", None, 10).unwrap().items.is_empty());
    assert!(store.entry(&queued).unwrap().is_some());
    assert_eq!(store.retain(&Policy { age: i64::MAX, bytes: 0 }, 500).unwrap().much, 0);
}

#[test]
fn another_writer_is_an_error_that_passes() {
    let (dir, store) = store();
    let other = Connection::open(dir.path().join("store.sqlite")).unwrap();
    store.writer.lock().unwrap().busy_timeout(Duration::ZERO).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.accept(&[report("7", 1000, "a")], 10).unwrap_err();
    assert!(matches!(error, StoreError::Locked) && error.is_temporary());
    other.execute_batch("ROLLBACK").unwrap();
    take(&store, &report("7", 1000, "a"));
}

#[test]
fn a_full_disk_is_an_error_that_passes_and_loses_nothing() {
    let (_dir, store) = store();
    let id = take(&store, &report("7", 1000, "a")).entry.id;
    let pages: i64 = store.reader().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    store.writer.lock().unwrap().pragma_update(None, "max_page_count", pages).unwrap();
    // Noise that does not compress.
    let noise: String = (0..40_000_u64)
        .map(|n| {
            char::from(b'!' + u8::try_from(n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 7 & 63).unwrap())
        })
        .collect();
    let error = store.accept(&[report("8", 1000, &noise)], 10).unwrap_err();
    assert!(matches!(error, StoreError::Full) && error.is_temporary(), "{error}");
    assert_eq!(store.list(&Filter::default(), None, 10).unwrap().items.len(), 1);
    assert!(store.entry(&id).unwrap().is_some());
}

#[test]
fn a_damaged_or_later_file_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.sqlite");
    std::fs::write(&path, "this is no database, and long enough to be looked at as one").unwrap();
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Damaged { .. })));
    std::fs::remove_file(&path).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }) && !error.is_temporary());
}
