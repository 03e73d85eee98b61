#include "edl/agent/job_directory.h"

#include <algorithm>
#include <array>

#include "edl/model/fields.h"

namespace edl::agent {
namespace {

constexpr std::uint64_t kFileBytesMax = 1 << 20;
constexpr std::uint64_t kTailBytesMax = 256 * 1024;
constexpr std::uint64_t kSecretBytesMax = 4096;
constexpr std::size_t kSecretBytes = 32;
constexpr int kSchema = 1;

Result<Json> read_object(os::Disk& disk, const std::string& path) {
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kFileBytesMax));
  auto json = parse_json(text_of(bytes));
  if (json.ok()) return json;
  return Error{Code::kCorrupt, text("cannot read ", path, ": ", json.error().message)};
}

Result<void> write_object(os::Disk& disk, const std::string& path, const Json& json) {
  return os::replace_file(disk, path, bytes_of(json_line(json) + "\n"));
}

}  // namespace

Json job_json(const Launch& launch) {
  const model::JobSpec& spec = launch.spec;
  Json json{{"schema", kSchema},
            {"name", spec.name},
            {"program", spec.program},
            {"args", spec.args},
            {"seed", spec.seed},
            {"logical_workers", launch.logical_workers},
            {"batch", launch.batch},
            {"mode", model::name(spec.mode)},
            {"spec", spec},
            {"fingerprint", launch.fingerprint}};
  model::write_samples(json, launch.samples);
  if (spec.epochs) json["epochs"] = *spec.epochs;
  if (launch.steps) json["steps"] = *launch.steps;
  return json;
}

Result<Launch> launch_from(const Json& json) {
  JsonReader in(json, "job.json");
  Launch launch;
  int schema = 0;
  in.read("schema", schema);
  if (schema != kSchema) in.fail(text("schema ", schema, " is not one that this program knows"));
  in.read_with("spec", launch.spec, model::job_from);
  in.read("logical_workers", launch.logical_workers);
  model::read_samples(in, launch.samples);
  in.read_with("batch", launch.batch, model::batch_from);
  in.read_optional("steps", launch.steps);
  if (in.has("fingerprint")) {
    in.read_with("fingerprint", launch.fingerprint, model::fingerprint_from);
  }
  EDL_TRY(in.finish());
  return launch;
}

Result<void> write_job(os::Disk& disk, const JobPaths& paths, const Launch& launch) {
  return write_object(disk, paths.job(), job_json(launch));
}

Result<Launch> read_job(os::Disk& disk, const JobPaths& paths) {
  EDL_TRY(const Json json, read_object(disk, paths.job()));
  return launch_from(json);
}

Result<void> write_run(os::Disk& disk, const JobPaths& paths, const RunFile& run) {
  return write_object(disk, paths.run(),
                      {{"store", run.store},
                       {"pid", run.pid},
                       {"host", run.host},
                       {"embedded", run.embedded},
                       {"token_file", run.token_file},
                       {"fingerprint", run.fingerprint},
                       {"reproducible", run.reproducible},
                       {"entering", run.entering}});
}

Result<RunFile> read_run(os::Disk& disk, const JobPaths& paths) {
  EDL_TRY(const Json json, read_object(disk, paths.run()));
  JsonReader in(json, "run.json");
  RunFile run;
  in.read("store", run.store);
  in.read("pid", run.pid);
  model::read_text(in, "host", run.host);
  in.read_optional("embedded", run.embedded);
  model::read_text_optional(in, "token_file", run.token_file);
  if (in.has("fingerprint")) in.read_with("fingerprint", run.fingerprint, model::fingerprint_from);
  in.read_optional("reproducible", run.reproducible);
  in.read_optional("entering", run.entering);
  EDL_TRY(in.finish());
  return run;
}

Result<std::string> make_secret(os::System& system, const std::string& path) {
  os::Disk& disk = system.disk();
  if (disk.exists(path)) return read_secret(disk, path);
  std::array<std::byte, kSecretBytes> chance{};
  system.fill_random(chance);
  const std::string secret = hex(chance);
  {
    EDL_TRY(const auto file, disk.open(path, os::Open::kCreatePrivate));
    EDL_TRY(file->write_at(0, bytes_of(secret + "\n")));
    EDL_TRY(file->sync());
  }
  EDL_TRY(disk.sync_directory(os::parent_directory(path)));
  return secret;
}

Result<std::string> read_secret(os::Disk& disk, const std::string& path) {
  EDL_TRY(const bool is_private, disk.is_private(path));
  if (!is_private) {
    return Error{Code::kInvalid, text("others may read the secret in ", path,
                                      ": take that right away with chmod 600 ", path)};
  }
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kSecretBytesMax));
  std::string secret(trim(text_of(bytes)));
  constexpr std::size_t kLeast = 16;
  if (secret.size() >= kLeast) return secret;
  return Error{Code::kInvalid, text("the secret in ", path, " has ", secret.size(),
                                    " bytes: use at least ", kLeast)};
}

std::vector<std::string> last_lines(os::Disk& disk, const std::string& path,
                                    std::size_t lines_max) {
  const auto file = disk.open(path, os::Open::kRead);
  if (!file.ok()) return {};
  const std::uint64_t size = (*file)->size().ok() ? (*file)->size().value() : 0;
  Bytes tail(std::min(size, kTailBytesMax));
  const auto got = (*file)->read_at(size - tail.size(), tail);
  if (!got.ok()) return {};
  tail.resize(*got);
  std::string_view words = trim(text_of(tail));
  std::vector<std::string> lines;
  for (const std::string_view line : split(words, '\n')) lines.emplace_back(line);
  if (words.empty()) lines.clear();
  if (lines.size() > lines_max)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(lines_max));
  return lines;
}

}  // namespace edl::agent
