//! Skills that stay what they were: every file by its digest.
