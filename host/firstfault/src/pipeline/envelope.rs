//! The finding in its envelope: identity, revision, provenance.

use firstfault_engine::digest::evidence_digest;
use firstfault_engine::{Case, Graph, Judged};
use firstfault_model::canonical::{Digester, digest, to_canonical_json};
use firstfault_model::diagnosis::{Diagnosis, Provenance, Revision, RevisionStatus, SCHEMA};

use crate::generation::Generation;

/// Concludes and wraps.
///
/// # Errors
/// The finding holds a number that canonical JSON cannot.
pub fn envelope(
    generation: &Generation,
    judged: Judged,
    graph: Graph,
    case: Case,
) -> anyhow::Result<Diagnosis> {
    let (finding, evidence) = rayon::join(
        || firstfault_engine::conclude(judged, &graph, &case, &generation.rules),
        || evidence_digest(&case),
    );
    let rules = generation.rules.generation().to_owned();
    let mut id = Digester::new("firstfault.diagnosis.id/1");
    id.part(evidence.as_bytes());
    id.part(rules.as_bytes());
    let id = id.finish();
    let id = id.get(7..23).unwrap_or(&id);
    let diagnosis_digest = digest(to_canonical_json(&finding)?.as_bytes());
    let plugins = case.plugins.clone();
    // Taking hundreds of thousands of events apart need not keep the answer waiting.
    rayon::spawn(move || drop((graph, case)));
    Ok(Diagnosis {
        schema: SCHEMA.to_owned(),
        id: format!("d-{id}"),
        revision: Revision {
            number: 1,
            status: RevisionStatus::Final,
            supersedes: None,
            changed: Vec::new(),
            next_at: None,
        },
        finding,
        provenance: Provenance {
            engine: firstfault_engine::VERSION.to_owned(),
            rules_generation: rules,
            packs: generation.pack_refs(),
            plugins,
            evidence_digest: evidence,
            diagnosis_digest,
        },
    })
}
