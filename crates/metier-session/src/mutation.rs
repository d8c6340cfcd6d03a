//! Changes to protected documents.

/// Placeholder until the gateway is merged.
pub trait MutationGateway: Send + Sync {}
