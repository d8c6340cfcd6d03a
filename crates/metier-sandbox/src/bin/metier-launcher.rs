//! The launcher as a separate program, for hosts that cannot start themselves again, and for the tests of this crate.

fn main() -> std::process::ExitCode {
    metier_sandbox::launch_if_asked();
    std::process::ExitCode::FAILURE
}
