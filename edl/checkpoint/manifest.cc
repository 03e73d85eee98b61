#include "edl/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>

namespace edl::checkpoint {
namespace {

constexpr std::uint64_t kManifestBytesMax = 64 << 10;
constexpr std::size_t kHashDigits = 64;

Result<ManifestFile> file_from(const Json& json) {
  JsonReader in(json, "file");
  ManifestFile file;
  in.read("name", file.name);
  in.read("bytes", file.bytes);
  in.read("sha256", file.sha256);
  EDL_TRY(in.finish());
  if (file.sha256.size() != kHashDigits) {
    return Error{Code::kInvalid,
                 text("the hash of ", file.name, " has not ", kHashDigits, " hexadecimal digits")};
  }
  return file;
}

// A step as folders are called: decimal digits, no zero before them.
std::optional<model::Step> step_of(const std::string& folder) {
  std::uint64_t step = 0;
  const char* end = folder.data() + folder.size();
  const auto [rest, failed] = std::from_chars(folder.data(), end, step);
  if (failed != std::errc() || rest != end || std::to_string(step) != folder) return std::nullopt;
  return model::Step(step);
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ManifestFile& file : files) sum += file.bytes;
  return sum;
}

void to_json(Json& json, const Manifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  json = Json{{"schema", kSchema}, {"step", manifest.step}, {"files", std::move(files)}};
}

Result<Manifest> manifest_from(const Json& json) {
  JsonReader in(json, "manifest");
  Manifest manifest;
  std::uint64_t schema = 0;
  in.read("schema", schema);
  if (schema != kSchema) in.fail(text("schema ", schema, " is not known here, only ", kSchema));
  in.read("step", manifest.step);
  in.read_list("files", manifest.files, file_from);
  EDL_TRY(in.finish());
  std::vector<std::string_view> wanted(kFileNames.begin(), kFileNames.end());
  if (manifest.has_user_state()) wanted.emplace_back(kUserName);
  const bool exact =
      std::equal(manifest.files.begin(), manifest.files.end(), wanted.begin(), wanted.end(),
                 [](const auto& file, std::string_view name) { return file.name == name; });
  if (exact) return manifest;
  return Error{Code::kInvalid,
               text("manifest: the files must be ", kFileNames[0], ", ", kFileNames[1], " and ",
                    kFileNames[2], ", and perhaps ", kUserName)};
}

Result<Manifest> read_manifest(os::Disk& disk, const std::string& checkpoint_path) {
  const std::string path = text(checkpoint_path, "/", kManifestName);
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kManifestBytesMax));
  const auto json = parse_json(text_of(bytes));
  if (!json.ok()) return Error{Code::kCorrupt, text(path, ": ", json.error().message)};
  auto manifest = manifest_from(*json);
  if (!manifest.ok()) return Error{Code::kCorrupt, text(path, ": ", manifest.error().message)};
  return manifest;
}

std::string checkpoints_path(const std::string& job_dir) { return job_dir + "/checkpoints"; }

std::string checkpoint_path(const std::string& job_dir, model::Step step) {
  return text(checkpoints_path(job_dir), "/", step);
}

Result<std::vector<model::Step>> list_checkpoints(os::Disk& disk, const std::string& job_dir) {
  std::vector<model::Step> steps;
  if (!disk.exists(checkpoints_path(job_dir))) return steps;
  EDL_TRY(const auto names, disk.list(checkpoints_path(job_dir)));
  for (const std::string& name : names) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Result<void> remove_checkpoint(os::Disk& disk, const std::string& path) {
  if (!disk.exists(path)) return {};
  const std::string manifest = text(path, "/", kManifestName);
  if (disk.exists(manifest)) {
    EDL_TRY(disk.remove(manifest));
    EDL_TRY(disk.sync_directory(path));
  }
  EDL_TRY(const auto names, disk.list(path));
  for (const std::string& name : names) EDL_TRY(disk.remove(text(path, "/", name)));
  return disk.remove(path);
}

}  // namespace edl::checkpoint
