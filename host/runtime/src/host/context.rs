//! `context`: execution contexts, made from documents by connectors and read by collectors.

use std::sync::Arc;

use firstfault_model::context::{ExecutionContext, Gpu};
use firstfault_model::ranges::{format_ranks, rank_ranges};
use wasmtime::component::Resource;

use crate::bindings::context::{Host as ContextHost, HostExecutionContext};
use crate::bindings::types::{Error, RankRange};
use crate::host::{Host, error};

/// Bytes of one document.
const MAX_DOCUMENT: usize = 64 << 20;
/// Names of nodes in one answer.
const MAX_NODES: usize = 4096;

/// What a handle of `execution-context` stands for.
#[derive(Debug, Clone)]
#[allow(unreachable_pub, reason = "the generated bindings name it as public")]
pub struct ContextHandle(pub(crate) Arc<ExecutionContext>);

/// Bounds what one call may parse.
#[derive(Debug)]
pub(crate) struct Contexts {
    bytes_left: usize,
}

impl Contexts {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { bytes_left: bytes }
    }

    fn parse(&mut self, document: &str) -> Result<ContextHandle, Error> {
        if document.len() > MAX_DOCUMENT {
            return Err(error(
                "too-large",
                "the context document has more than 64 MiB; leave out what is not needed",
            ));
        }
        let Some(left) = self.bytes_left.checked_sub(document.len()) else {
            return Err(error(
                "limit",
                "the context documents of this call are too large in all; resolve fewer attempts",
            ));
        };
        self.bytes_left = left;
        match ExecutionContext::parse(document) {
            Ok(context) => Ok(ContextHandle(Arc::new(context))),
            Err(e) => Err(error(
                "malformed",
                crate::text::printable(&e.to_string(), crate::attributes::MAX_SENTENCE - 3),
            )),
        }
    }
}

impl Host {
    fn execution_context(
        &mut self,
        handle: &Resource<ContextHandle>,
    ) -> wasmtime::Result<Arc<ExecutionContext>> {
        self.meter.tick()?;
        Ok(Arc::clone(&self.resources.get(handle)?.0))
    }
}

impl ContextHost for Host {}

impl HostExecutionContext for Host {
    fn parse(&mut self, document: String) -> wasmtime::Result<Result<Resource<ContextHandle>, Error>> {
        self.meter.tick_for(document.len())?;
        match self.contexts.parse(&document) {
            Ok(handle) => Ok(Ok(self.resources.push(handle)?)),
            Err(e) => Ok(Err(e)),
        }
    }

    fn get(&mut self, this: Resource<ContextHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.execution_context(&this)?.get(&key))
    }

    fn start(&mut self, this: Resource<ContextHandle>) -> wasmtime::Result<Option<i64>> {
        Ok(self.execution_context(&this)?.document.start.map(|t| t.0))
    }

    fn end(&mut self, this: Resource<ContextHandle>) -> wasmtime::Result<Option<i64>> {
        Ok(self.execution_context(&this)?.document.end.map(|t| t.0))
    }

    fn node_count(&mut self, this: Resource<ContextHandle>) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.execution_context(&this)?.nodes.len()).unwrap_or(u32::MAX))
    }

    fn nodes(
        &mut self,
        this: Resource<ContextHandle>,
        offset: u32,
        limit: u32,
    ) -> wasmtime::Result<Vec<String>> {
        let context = self.execution_context(&this)?;
        let limit = (limit as usize).min(MAX_NODES);
        self.meter.spend(limit.min(context.nodes.len()))?;
        Ok(context.nodes.iter().skip(offset as usize).take(limit).map(|n| n.name.clone()).collect())
    }

    fn ranks(&mut self, this: Resource<ContextHandle>, node: String) -> wasmtime::Result<Vec<RankRange>> {
        let context = self.execution_context(&this)?;
        let ranks = context.node(&node).map(|n| n.ranks.iter().copied().collect()).unwrap_or_default();
        Ok(rank_ranges(&ranks).into_iter().map(|(first, last)| RankRange { first, last }).collect())
    }

    fn gpus(
        &mut self,
        this: Resource<ContextHandle>,
        node: String,
    ) -> wasmtime::Result<Vec<Vec<(String, String)>>> {
        let context = self.execution_context(&this)?;
        Ok(context.node(&node).map(|n| n.gpus.iter().map(gpu_attributes).collect()).unwrap_or_default())
    }

    fn drop(&mut self, this: Resource<ContextHandle>) -> wasmtime::Result<()> {
        self.resources.delete(this)?;
        Ok(())
    }
}

fn gpu_attributes(gpu: &Gpu) -> Vec<(String, String)> {
    let ranks = (!gpu.ranks.is_empty()).then(|| format_ranks(&gpu.ranks));
    let fields = [
        ("index", gpu.index.map(|i| i.to_string())),
        ("pci_bus_id", gpu.bus_id.as_ref().map(ToString::to_string)),
        ("uuid", gpu.uuid.clone()),
        ("serial", gpu.serial.clone()),
        ("model", gpu.model.clone()),
        ("ranks", ranks),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
