#pragma once

#include <CLI/CLI.hpp>

namespace feroma::cli {

/// How tables are printed.
enum class Format { text, json };

/// Each command adds itself to the app; its callback does the work and throws feroma::Error on failure.
void add_init_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_privacy_command(CLI::App& app);
void add_assign_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_dashboard_command(CLI::App& app);
// Only in builds with the network.
void add_cert_command(CLI::App& app);
void add_server_command(CLI::App& app);
void add_client_command(CLI::App& app);
/// Only in builds without it: the same commands, which say so.
void add_missing_network_commands(CLI::App& app);
/// Part of `feroma data`.
void add_preview_command(CLI::App& data);

/// The shared `--format text|json` option of everything that prints a table.
void add_format_option(CLI::App& command, Format& format);

}  // namespace feroma::cli
