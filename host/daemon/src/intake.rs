//! Gathers what comes in at the same time into one commit: a thousand hooks at once wait for the disk a few times, not a thousand.

use std::sync::Arc;

use firstfault_store::StoreError;
use tokio::sync::{mpsc, oneshot};

use crate::problem::Problem;

/// Most items of one commit.
const MOST: usize = 1024;
/// Most items that wait; beyond it clients are told to come again.
const WAITING: usize = 16_384;

type Answer<R> = Result<R, Arc<StoreError>>;

/// The way into the store for one kind of item.
#[derive(Debug)]
pub(crate) struct Intake<T, R> {
    sender: mpsc::Sender<(T, oneshot::Sender<Answer<R>>)>,
}

impl<T: Send + 'static, R: Send + 'static> Intake<T, R> {
    /// Starts the thread that commits. It ends when the intake is dropped.
    pub(crate) fn start(
        name: &str,
        commit: impl Fn(&[T]) -> Result<Vec<R>, StoreError> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, mut receiver) = mpsc::channel::<(T, oneshot::Sender<Answer<R>>)>(WAITING);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(first) = receiver.blocking_recv() {
                let (mut items, mut answers) = (vec![first.0], vec![first.1]);
                while items.len() < MOST
                    && let Ok((item, answer)) = receiver.try_recv()
                {
                    items.push(item);
                    answers.push(answer);
                }
                match commit(&items) {
                    // Whoever has gone away need not be told.
                    Ok(results) => answers.into_iter().zip(results).for_each(|(a, r)| drop(a.send(Ok(r)))),
                    Err(error) => {
                        let error = Arc::new(error);
                        answers.into_iter().for_each(|a| drop(a.send(Err(Arc::clone(&error)))));
                    }
                }
            }
        })?;
        Ok(Self { sender })
    }

    /// Hands an item over and waits until it is on the disk.
    pub(crate) async fn put(&self, item: T) -> Result<R, Problem> {
        let (answer, receive) = oneshot::channel();
        self.sender
            .try_send((item, answer))
            .map_err(|_| Problem::busy("too much is waiting for the disk; try again"))?;
        match receive.await {
            Ok(result) => result.map_err(|error| Problem::from(&*error)),
            Err(_) => Err(Problem::busy("the daemon is stopping")),
        }
    }
}
