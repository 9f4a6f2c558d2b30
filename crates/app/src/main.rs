//! The `iosonar` command.

fn main() -> std::process::ExitCode {
    iosonar_cli::main()
}
