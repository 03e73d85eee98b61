#include "edl/os/virtual/disk.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::os {

namespace {
constexpr std::size_t kSectorBytes = 512;
}

VirtualDisk::VirtualDisk(std::uint64_t seed, Trace& trace) : random_(seed), trace_(trace) {
  for (const char* folder : {"/", "."}) {
    current_[folder] = {};
    durable_[folder] = {};
  }
}
VirtualDisk::~VirtualDisk() = default;

void VirtualDisk::release_locks(int owner) {
  std::erase_if(locks_, [&](const auto& lock) { return lock.second == owner; });
}

bool VirtualDisk::is_folder(const std::string& path) const {
  const auto found = current_.find(path);
  return found != current_.end() && found->second.inode == nullptr;
}

void VirtualDisk::change_name(NameChange change) {
  apply(current_, change);
  pending_.push_back(std::move(change));
}

void VirtualDisk::apply(Tree& tree, const NameChange& change) {
  switch (change.change) {
    case Change::kAdd:
      tree[change.path] = change.entry;
      return;
    case Change::kRemove:
      tree.erase(change.path);
      return;
    case Change::kRename:
      break;
  }
  // A folder takes what is in it along.
  const std::string below = change.path + "/";
  Tree moved;
  for (auto it = tree.lower_bound(change.path); it != tree.end();) {
    const bool inside = it->first == change.path || it->first.starts_with(below);
    if (inside) moved[change.to + it->first.substr(change.path.size())] = it->second;
    it = inside ? tree.erase(it) : std::next(it);
  }
  for (auto& [path, entry] : moved) tree[path] = std::move(entry);
}

void VirtualDisk::apply(Bytes& content, const Write& write) {
  if (write.truncates) return content.resize(write.offset);
  const std::size_t end = write.offset + write.bytes.size();
  if (content.size() < end) content.resize(end);
  std::copy(write.bytes.begin(), write.bytes.end(),
            content.begin() + static_cast<std::ptrdiff_t>(write.offset));
}

// Keeps some of a write's sectors; true when it kept some but not all.
bool VirtualDisk::keep_part(const Write& write, Bytes& content) {
  std::size_t kept = 0;
  std::size_t sectors = 0;
  for (std::size_t at = 0; at < write.bytes.size(); at += kSectorBytes, ++sectors) {
    if (random_.once_in(2)) continue;
    const std::size_t length = std::min(kSectorBytes, write.bytes.size() - at);
    const auto first = write.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    apply(content,
          {write.offset + at, Bytes(first, first + static_cast<std::ptrdiff_t>(length)), false});
    ++kept;
  }
  return kept > 0 && kept < sectors;
}

// Decides what a power cut leaves of an inode's unsynced writes.
void VirtualDisk::settle(Inode& inode) {
  bool lost_one = false;
  for (const Write& write : inode.pending) {
    switch (random_.below(3)) {
      case 0:
        apply(inode.durable, write);
        if (lost_one) trace_.hit("fault.disk_reorder");
        break;
      case 1:
        if (!write.truncates && keep_part(write, inode.durable))
          trace_.hit("fault.disk_torn_write");
        lost_one = true;
        break;
      default:
        trace_.hit("fault.disk_lost_write");
        lost_one = true;
    }
  }
  inode.pending.clear();
  inode.current = inode.durable;
}

void VirtualDisk::lose_power() {
  const std::uint64_t kept = random_.below(pending_.size() + 1);
  if (kept < pending_.size()) trace_.hit("fault.disk_lost_name");
  for (std::uint64_t i = 0; i < kept; ++i) apply(durable_, pending_[i]);
  pending_.clear();
  current_ = durable_;
  for (auto& [path, entry] : durable_) {
    if (entry.inode != nullptr) settle(*entry.inode);
  }
  locks_.clear();
}

void VirtualDisk::arm(std::uint64_t calls, std::function<void(int owner)> blow) {
  calls_left_ = calls;
  blow_ = std::move(blow);
}

bool VirtualDisk::before_change(int owner) {
  ++changes_;
  if (blow_ && calls_left_-- == 0) {
    const auto blow = std::move(blow_);
    blow_ = nullptr;
    blow(owner);
  }
  if (!failing_in_ || (*failing_in_)-- > 0) return false;
  failing_in_.reset();
  trace_.hit("fault.disk_call_error");
  return true;
}

void VirtualDisk::flip_bit(const std::string& path, std::uint64_t offset) {
  const auto found = current_.find(path);
  if (found == current_.end() || found->second.inode == nullptr) return;
  Inode& inode = *found->second.inode;
  for (Bytes* content : {&inode.current, &inode.durable}) {
    if (offset < content->size()) (*content)[offset] ^= std::byte{1};
  }
  trace_.hit("fault.disk_bit_flip");
}

std::uint64_t VirtualDisk::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& [path, entry] : current_) used += entry.inode ? entry.inode->current.size() : 0;
  return used;
}

Result<void> VirtualDisk::grow(std::uint64_t more) {
  if (capacity_bytes_ == kUnlimited || used_bytes() + more <= capacity_bytes_) return {};
  trace_.hit("fault.disk_full");
  return Error{Code::kExhausted, "cannot write: No space left on device"};
}

Result<void> VirtualDisk::sync(Inode& inode, const std::string& path) {
  if (fail_next_sync_) {
    // As on Linux: the error is told once; readers go on to see what may never reach the disk.
    fail_next_sync_ = false;
    trace_.hit("fault.disk_sync_error");
    Bytes seen = inode.current;
    settle(inode);
    inode.current = std::move(seen);
    return Error{Code::kUnavailable, text("cannot sync ", path, ": Input/output error")};
  }
  for (const Write& write : inode.pending) apply(inode.durable, write);
  inode.pending.clear();
  return {};
}

}  // namespace edl::os
