//! One agent conversation, where catalog, policy, sandbox, journal and store meet.

mod mutation;
