//! `http`: requests to endpoints that the operator named. Nothing can be granted yet: every endpoint is refused by name.

use wasmtime::component::Resource;

use crate::attributes::shown;
use crate::bindings::http::{Host as HttpHost, HostExchange, Request};
use crate::bindings::types::Error;
use crate::host::{Host, error};

/// A request in flight. None can be started yet, so there is none.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings name it as public")]
pub enum Exchange {}

impl HttpHost for Host {
    fn endpoints(&mut self) -> wasmtime::Result<Vec<String>> {
        self.meter.tick()?;
        Ok(Vec::new())
    }

    fn start(
        &mut self,
        endpoint: String,
        request: Request,
    ) -> wasmtime::Result<Result<Resource<Exchange>, Error>> {
        self.meter.tick_for(endpoint.len() + request.body.len())?;
        Ok(Err(error(
            "not-granted",
            format!(
                "the endpoint '{}' is not granted to this plugin: this version grants none",
                shown(&endpoint)
            ),
        )))
    }

    fn wait(&mut self, exchanges: Vec<Resource<Exchange>>) -> wasmtime::Result<Vec<u32>> {
        self.meter.tick()?;
        match exchanges.first() {
            Some(exchange) => match *self.resources.get(exchange)? {},
            None => Ok(Vec::new()),
        }
    }
}

impl HostExchange for Host {
    fn status(&mut self, this: Resource<Exchange>) -> wasmtime::Result<Result<u16, Error>> {
        self.meter.tick()?;
        match *self.resources.get(&this)? {}
    }

    fn header(&mut self, this: Resource<Exchange>, _: String) -> wasmtime::Result<Option<String>> {
        self.meter.tick()?;
        match *self.resources.get(&this)? {}
    }

    fn read(&mut self, this: Resource<Exchange>, _: u32) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        self.meter.tick()?;
        match *self.resources.get(&this)? {}
    }

    fn drop(&mut self, this: Resource<Exchange>) -> wasmtime::Result<()> {
        self.resources.delete(this)?;
        Ok(())
    }
}
