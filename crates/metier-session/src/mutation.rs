//! Changes to protected documents.
