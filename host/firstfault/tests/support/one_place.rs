//! Places of which not everything is known.

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::PlaceFields;

/// Whether two places may be one: all that is known of both is the same.
pub(crate) fn may_be_one(context: &ExecutionContext, a: &PlaceFields, b: &PlaceFields) -> bool {
    let node = |place: &PlaceFields| {
        let of_rank = || Some(context.node_of_rank(*place.ranks.first()?)?.name.clone());
        place.node.clone().or_else(of_rank)
    };
    let gpu = |place: &PlaceFields| Some(place.gpus.first()?.pci_bus_id.clone()?.to_string());
    let rank = |place: &PlaceFields| Some(place.ranks.clone()).filter(|ranks| ranks.len() == 1);
    let port = |place: &PlaceFields| place.port.as_ref().map(|port| (port.device.clone(), port.number));
    agree(node(a), node(b)) && agree(gpu(a), gpu(b)) && agree(rank(a), rank(b)) && agree(port(a), port(b))
}

fn agree<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.is_none() || b.is_none() || a == b
}
