// The disk as one virtual process sees it: checks what POSIX checks, then changes the VirtualDisk.
#include <algorithm>

#include "edl/base/text.h"
#include "edl/os/virtual/disk.h"

namespace edl::os {
namespace {

Error dead() { return {Code::kUnavailable, "this process has ended"}; }
Error broken(const std::string& path) {
  return {Code::kUnavailable, text("cannot change ", path, ": Input/output error")};
}

// "a//b/" -> "a/b".
std::string tidy(const std::string& path) {
  std::string out;
  for (const char letter : path) {
    if (letter != '/' || out.empty() || out.back() != '/') out += letter;
  }
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  if (out.starts_with("./")) out.erase(0, 2);
  return out;
}

}  // namespace

class VirtualFile final : public File {
 public:
  struct Opened {
    std::shared_ptr<VirtualDisk::Inode> inode;
    std::string path;
    int owner;
    Open mode;
  };
  VirtualFile(VirtualDisk& disk, Opened opened, std::function<bool()> running)
      : disk_(disk), opened_(std::move(opened)), running_(std::move(running)) {}

  Result<std::size_t> read_at(std::uint64_t offset, ByteSpan into) override {
    if (!running_()) return dead();
    const Bytes& content = opened_.inode->current;
    if (offset >= content.size()) return std::size_t{0};
    const std::size_t length = std::min<std::size_t>(into.size(), content.size() - offset);
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), length, into.begin());
    return length;
  }

  Result<void> write_at(std::uint64_t offset, ConstBytes bytes) override {
    EDL_CHECK(opened_.mode != Open::kAppend, "a file that was opened for appending has no offsets");
    return write(offset, bytes);
  }

  Result<void> append(ConstBytes bytes) override {
    return write(opened_.inode->current.size(), bytes);
  }

  Result<std::uint64_t> size() override {
    if (!running_()) return dead();
    return static_cast<std::uint64_t>(opened_.inode->current.size());
  }

  Result<void> truncate(std::uint64_t bytes) override {
    const bool fails = disk_.before_change(opened_.owner);
    EDL_TRY(may_write());
    if (fails) return broken(opened_.path);
    if (bytes > opened_.inode->current.size())
      EDL_TRY(disk_.grow(bytes - opened_.inode->current.size()));
    return record({bytes, {}, true});
  }

  Result<void> sync() override {
    if (disk_.before_change(opened_.owner)) disk_.fail_next_sync();
    if (!running_()) return dead();
    return disk_.sync(*opened_.inode, opened_.path);
  }

 private:
  Result<void> may_write() const {
    if (!running_()) return dead();
    if (opened_.mode != Open::kRead) return {};
    return Error{Code::kInvalid, text("cannot write ", opened_.path, ": opened for reading")};
  }

  Result<void> write(std::uint64_t offset, ConstBytes bytes) {
    const bool fails = disk_.before_change(opened_.owner);
    EDL_TRY(may_write());
    if (fails) {
      EDL_TRY(record({offset, copy_bytes(bytes.first(bytes.size() / 2)), false}));
      return broken(opened_.path);
    }
    const std::uint64_t end = offset + bytes.size();
    if (end > opened_.inode->current.size())
      EDL_TRY(disk_.grow(end - opened_.inode->current.size()));
    return record({offset, copy_bytes(bytes), false});
  }

  Result<void> record(VirtualDisk::Write write) {
    VirtualDisk::apply(opened_.inode->current, write);
    opened_.inode->pending.push_back(std::move(write));
    return {};
  }

  VirtualDisk& disk_;
  Opened opened_;
  std::function<bool()> running_;
};

class VirtualDiskFace final : public Disk {
 public:
  VirtualDiskFace(VirtualDisk& disk, int owner, std::function<bool()> running)
      : disk_(disk), owner_(owner), running_(std::move(running)) {}

  Result<std::unique_ptr<File>> open(const std::string& raw, Open mode) override {
    const bool fails = mode != Open::kRead && disk_.before_change(owner_);
    if (!running_()) return dead();
    const std::string path = tidy(raw);
    if (fails) return broken(path);
    auto found = disk_.current_.find(path);
    const bool there = found != disk_.current_.end();
    if (there && found->second.inode == nullptr) return wrong("open", path, "Is a directory");
    if (there && (mode == Open::kCreateNew || mode == Open::kCreatePrivate))
      return wrong("open", path, "File exists", Code::kConflict);
    if (!there) {
      if (mode == Open::kRead) return missing("open", path);
      EDL_TRY(has_folder("open", path));
      EDL_TRY(disk_.grow(1));  // a full disk has no room for a name either
      const auto inode = std::make_shared<VirtualDisk::Inode>();
      disk_.change_name({VirtualDisk::Change::kAdd, path, {}, {inode}});
      found = disk_.current_.find(path);
    }
    VirtualFile::Opened opened{found->second.inode, path, owner_, mode};
    return std::make_unique<VirtualFile>(disk_, std::move(opened), running_);
  }

  Result<void> rename(const std::string& raw_from, const std::string& raw_to) override {
    const bool fails = disk_.before_change(owner_);
    if (!running_()) return dead();
    const std::string from = tidy(raw_from);
    const std::string to = tidy(raw_to);
    if (fails) return broken(from);
    if (!exists(from)) return missing("rename", from);
    EDL_TRY(has_folder("rename", to));
    if (disk_.is_folder(to)) return wrong("rename to", to, "Is a directory");
    if (from != to) disk_.change_name({VirtualDisk::Change::kRename, from, to, {}});
    return {};
  }

  Result<void> remove(const std::string& raw) override {
    const bool fails = disk_.before_change(owner_);
    if (!running_()) return dead();
    const std::string path = tidy(raw);
    if (fails) return broken(path);
    if (!exists(path)) return missing("remove", path);
    if (disk_.is_folder(path) && !names_in(path).empty()) {
      return wrong("remove", path, "Directory not empty", Code::kConflict);
    }
    disk_.change_name({VirtualDisk::Change::kRemove, path, {}, {}});
    return {};
  }

  Result<void> make_directory(const std::string& raw) override {
    const bool fails = disk_.before_change(owner_);
    if (!running_()) return dead();
    const std::string path = tidy(raw);
    if (fails) return broken(path);
    if (exists(path)) {
      if (disk_.is_folder(path)) return {};
      return wrong("make the folder", path, "a file has this name", Code::kConflict);
    }
    EDL_TRY(make_directory(parent_directory(path)));
    disk_.change_name({VirtualDisk::Change::kAdd, path, {}, {}});
    return {};
  }

  Result<void> sync_directory(const std::string& raw) override {
    const bool fails = disk_.before_change(owner_);
    if (!running_()) return dead();
    const std::string path = tidy(raw);
    if (fails) return broken(path);
    if (!disk_.is_folder(path)) return missing("sync the folder", path);
    auto& pending = disk_.pending_;
    std::size_t upto = 0;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const bool renames = pending[i].change == VirtualDisk::Change::kRename;
      const bool here = parent_directory(pending[i].path) == path ||
                        (renames && parent_directory(pending[i].to) == path);
      if (here) upto = i + 1;
    }
    for (std::size_t i = 0; i < upto; ++i) VirtualDisk::apply(disk_.durable_, pending[i]);
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(upto));
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& raw) override {
    if (!running_()) return dead();
    const std::string path = tidy(raw);
    if (!disk_.is_folder(path)) return missing("list", path);
    return names_in(path);
  }

  bool exists(const std::string& path) override {
    return running_() && disk_.current_.contains(tidy(path));
  }

  Result<std::unique_ptr<DiskLock>> lock(const std::string& raw) override {
    EDL_TRY(open(raw, Open::kWrite));
    const std::string path = tidy(raw);
    if (!disk_.locks_.emplace(path, owner_).second) {
      return wrong("lock", path, "another process holds it", Code::kConflict);
    }
    return std::make_unique<Lock>(disk_, path, running_);
  }

  Result<std::uint64_t> free_bytes(const std::string&) override {
    if (disk_.capacity_bytes_ == VirtualDisk::kUnlimited) return std::uint64_t{1} << 40;
    return disk_.capacity_bytes_ - std::min(disk_.capacity_bytes_, disk_.used_bytes());
  }
  Result<bool> is_private(const std::string&) override { return true; }

 private:
  class Lock final : public DiskLock {
   public:
    Lock(VirtualDisk& disk, std::string path, std::function<bool()> running)
        : disk_(disk), path_(std::move(path)), running_(std::move(running)) {}
    ~Lock() override {
      if (running_()) disk_.locks_.erase(path_);  // a dead process's locks are gone already
    }

   private:
    VirtualDisk& disk_;
    std::string path_;
    std::function<bool()> running_;
  };

  static Error wrong(std::string_view what, const std::string& path, std::string_view why,
                     Code code = Code::kInvalid) {
    return {code, text("cannot ", what, " ", path, ": ", why)};
  }
  static Error missing(std::string_view what, const std::string& path) {
    return wrong(what, path, "No such file or directory", Code::kNotFound);
  }
  Result<void> has_folder(std::string_view what, const std::string& path) const {
    if (disk_.is_folder(parent_directory(path))) return {};
    return missing(what, path);
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& [path, entry] : disk_.current_) {
      const bool itself = path == folder || path == "." || path == "/";
      if (!itself && parent_directory(path) == folder) {
        names.push_back(path.substr(path.rfind('/') + 1));
      }
    }
    return names;
  }

  VirtualDisk& disk_;
  int owner_;
  std::function<bool()> running_;
};

std::unique_ptr<Disk> VirtualDisk::face(int owner, std::function<bool()> running) {
  return std::make_unique<VirtualDiskFace>(*this, owner, std::move(running));
}

}  // namespace edl::os
