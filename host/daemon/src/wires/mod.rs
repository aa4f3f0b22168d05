//! Wires that launchers' agents speak already, so that they need not be changed.

mod attributor;
mod logs;

use axum::Router;

use crate::app::App;

/// All of them.
pub(crate) fn routes() -> Router<App> {
    attributor::routes().merge(logs::routes())
}
