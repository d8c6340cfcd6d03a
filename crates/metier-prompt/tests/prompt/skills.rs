//! Skills in prompts, in their three ways: attached, written or referred to, found.
