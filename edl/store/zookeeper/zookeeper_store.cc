#include "edl/store/zookeeper/zookeeper_store.h"

#include <set>

#include "edl/base/text.h"
#include "edl/os/address.h"
#include "edl/store/zookeeper/changing.h"
#include "edl/store/zookeeper/ensemble.h"
#include "edl/store/zookeeper/following.h"
#include "edl/store/zookeeper/leases.h"
#include "edl/store/zookeeper/trial.h"
#include "edl/store/zookeeper/walk.h"

namespace edl::store::zookeeper {
namespace {

constexpr std::string_view kScheme = "zk://";

class Finding final : public Trial<std::optional<KeyValue>> {
 public:
  Finding(Ensemble& ensemble, std::string key, Done<std::optional<KeyValue>> done)
      : Trial(ensemble, std::move(done)), key_(std::move(key)) {}

 private:
  // Both are sent at once; the answers come in order.
  void attempt() override {
    Session& session = ensemble().session();
    syncing_ = session.sync([this](const Answer& answer) {
      if (answer.rc == ZOK) return;
      finding_.cancel();
      is_fine(answer, key_);
    });
    finding_ =
        session.get(key_, Session::Watch::kNo, [this](const Answer& answer) { on_found(answer); });
  }
  void on_found(const Answer& answer) {
    if (!is_fine(answer, key_)) return;
    const bool is_key = answer.rc == ZOK && !is_marker(answer.data);
    finish(is_key ? std::optional(key_value(key_, answer)) : std::nullopt);
  }

  const std::string key_;
  os::Pending syncing_;
  os::Pending finding_;
};

// Answers, but not inside the call.
template <class T>
os::Pending answer_soon(os::System& system, Done<T> done, Result<T> result) {
  return system.after(Duration::zero(), [done = std::move(done), result = std::move(result)] {
    const auto last = done;  // it may destroy this function
    last(result);
  });
}

// 0 when there is none; an error when there are several, each a session of its own.
Result<LeaseId> lease_of(const Change& change) {
  std::set<LeaseId> leases;
  for (const Change::Put& put : change.puts) leases.insert(put.lease);
  leases.erase(0);
  if (leases.empty()) return LeaseId{0};
  if (leases.size() == 1) return *leases.begin();
  return Error{Code::kInvalid, "in ZooKeeper one change can put keys on one lease only"};
}

}  // namespace

ZooKeeperStore::ZooKeeperStore(os::System& system, Options options)
    : ensemble_(std::make_unique<Ensemble>(system, std::move(options))),
      leases_(std::make_unique<Leases>(*ensemble_)) {}

ZooKeeperStore::~ZooKeeperStore() = default;

os::System& ZooKeeperStore::system() { return ensemble_->system(); }

os::Pending ZooKeeperStore::find(const std::string& key, Done<std::optional<KeyValue>> done) {
  using Found = std::optional<KeyValue>;
  if (const auto valid = check_key(key); !valid.ok()) {
    return answer_soon<Found>(system(), std::move(done), valid.error());
  }
  return os::Pending(std::make_unique<Finding>(*ensemble_, key, std::move(done)));
}

os::Pending ZooKeeperStore::list(const std::string& prefix, Done<std::vector<KeyValue>> done) {
  if (const auto valid = check_prefix(prefix); !valid.ok()) {
    return answer_soon<std::vector<KeyValue>>(system(), std::move(done), valid.error());
  }
  return os::Pending(std::make_unique<Walk>(*ensemble_, prefix, std::move(done)));
}

os::Pending ZooKeeperStore::change(const Change& change, Done<Changed> done) {
  const auto refuse = [&](Error error) {
    return answer_soon<Changed>(system(), std::move(done), std::move(error));
  };
  if (const auto valid = check_change(change); !valid.ok()) return refuse(valid.error());
  const auto id = lease_of(change);
  if (!id.ok()) return refuse(id.error());
  std::shared_ptr<Session> session;
  if (*id != 0) {
    Leases::Lease* lease = leases_->find(*id);
    if (lease == nullptr) return refuse(no_such_lease(*id));
    session = lease->session;
    for (const Change::Put& put : change.puts) {
      if (put.lease != 0) lease->keys.insert(put.key);
    }
  }
  return os::Pending(
      std::make_unique<Changing>(*ensemble_, std::move(session), change, std::move(done)));
}

os::Pending ZooKeeperStore::grant(Duration length, Done<LeaseId> done) {
  return grant_lease(*ensemble_, *leases_, length, std::move(done));
}

os::Pending ZooKeeperStore::renew(LeaseId lease, Done<Duration> done) {
  return renew_lease(*ensemble_, *leases_, lease, std::move(done));
}

os::Pending ZooKeeperStore::revoke(LeaseId lease, Done<void> done) {
  return revoke_lease(*ensemble_, *leases_, lease, std::move(done));
}

os::Pending ZooKeeperStore::follow(const std::string& prefix, OnFact on_fact) {
  return os::Pending(std::make_unique<Following>(*ensemble_, prefix, std::move(on_fact)));
}

Result<Options> parse_options(std::string_view url) {
  if (!url.starts_with(kScheme)) {
    return Error{Code::kInvalid,
                 text("\"", url, "\" is no ZooKeeper: write zk://host:port,host:port")};
  }
  Options options;
  for (const std::string_view part : split(url.substr(kScheme.size()), ',')) {
    EDL_TRY(const os::Address address, os::parse_address(trim(part)));
    if (address.is_unix() || address.port == 0) {
      return Error{Code::kInvalid, text("\"", part, "\" in ", url, " is not host:port")};
    }
    if (!options.hosts.empty()) options.hosts += ',';
    options.hosts += os::address_text(address);
  }
  return options;
}

Result<std::unique_ptr<Store>> open_store(os::System& system, std::string_view url) {
  EDL_TRY(Options options, parse_options(url));
  return std::unique_ptr<Store>(std::make_unique<ZooKeeperStore>(system, std::move(options)));
}

}  // namespace edl::store::zookeeper
