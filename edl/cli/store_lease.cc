// `edl store lease`.
#include <algorithm>
#include <chrono>

#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"

namespace edl::cli {
namespace {

class LeaseGrant final : public StoreCommand {
 public:
  explicit LeaseGrant(CLI::App& app) : StoreCommand(app) {
    add_duration(app, "--ttl", ttl_, "how long it lasts without a keep-alive; whole seconds")
        ->required();
    add_store_number(app, "--id", request_.id, "its id; the store chooses when not given");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    request_.ttl = std::chrono::ceil<std::chrono::seconds>(ttl_).count();
    EDL_TRY(const auto lease, store.ask(&store::Client::grant, request_));
    out.add(json() ? object_line({{"id", lease.id}, {"ttl", lease.ttl}}) : text(lease.id, "\n"));
    return {};
  }

  Duration ttl_{};
  store::LeaseGrantRequest request_;
};

// A command on the lease that its first word names.
class LeaseCommand : public StoreCommand {
 protected:
  explicit LeaseCommand(CLI::App& app) : StoreCommand(app) {
    add_store_number(app, "ID", id_, "the lease, as grant and list tell it")->required();
  }
  store::LeaseId id() const { return id_; }

 private:
  store::LeaseId id_ = 0;
};

class LeaseKeepAlive final : public LeaseCommand {
 public:
  LeaseKeepAlive(CLI::App& app, Console& console) : LeaseCommand(app), console_(console) {
    app.add_flag("--once", once_, "once, instead of until Ctrl-C");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    store.end_on_signals();
    renew(store, out);
    const auto result = store.run();
    pending_.cancel();
    return result;
  }

  void renew(StoreConnection& store, Output& out) {
    pending_ =
        store.client().keep_alive({id()}, [&](const Result<store::LeaseKeepAliveResponse>& kept) {
          kept.ok() ? on_kept(store, *kept, out) : on_failed(store, kept.error(), out);
        });
  }

  void on_kept(StoreConnection& store, const store::LeaseKeepAliveResponse& kept, Output& out) {
    if (is_away_) tell("the store is back.");
    is_away_ = false;
    was_kept_ = true;
    out.add(json() ? object_line({{"id", kept.id}, {"ttl", kept.ttl}})
                   : text("lease ", kept.id, " lasts ", kept.ttl, " s from now\n"));
    out.flush();
    if (once_ || !out.open()) return store.end({});
    constexpr int kPart = 3;  // two more tries before it is over
    pause(store, out, std::chrono::seconds(kept.ttl) / kPart);
  }

  // Once it was kept, a store that is away is waited for: leases have their full time again after
  // a restart.
  void on_failed(StoreConnection& store, const Error& error, Output& out) {
    const bool away = error.code == Code::kUnavailable || error.code == Code::kTimeout;
    if (!away || !was_kept_ || once_) return store.end(reason(error));
    if (!is_away_) tell(text("the store is away, waiting for it: ", error.message));
    is_away_ = true;
    pause(store, out, 1s);
  }

  void pause(StoreConnection& store, Output& out, Duration length) {
    pending_ = store.system().after(length, [&] { renew(store, out); });
  }

  Error reason(const Error& error) const {
    if (error.code != Code::kNotFound) return error;
    return {error.code, text("cannot keep lease ", id(),
                             ": it is over, or there never was one. Ask for another with edl "
                             "store lease grant.")};
  }

  void tell(std::string_view what) {
    console_.talk.add(text("edl: ", what, "\n"));
    console_.talk.flush();
  }

  Console& console_;
  bool once_ = false;
  bool was_kept_ = false;
  bool is_away_ = false;
  os::Pending pending_;
};

class LeaseRevoke final : public LeaseCommand {
 public:
  explicit LeaseRevoke(CLI::App& app) : LeaseCommand(app) {}

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    const store::LeaseRevokeRequest request{id()};
    EDL_TRY(const auto done, store.ask(&store::Client::revoke, request));
    out.add(json() ? object_line({{"id", id()}, {"revision", done.header->revision}}) : "OK\n");
    return {};
  }
};

class LeaseShow final : public LeaseCommand {
 public:
  explicit LeaseShow(CLI::App& app) : LeaseCommand(app) {
    app.add_flag("--keys", keys_, "also the keys that hang on it");
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    const store::LeaseTimeToLiveRequest request{.id = id(), .keys = keys_};
    EDL_TRY(store::LeaseTimeToLiveResponse lease, store.ask(&store::Client::time_to_live, request));
    if (lease.ttl < 0) {
      return Error{Code::kNotFound, text("there is no lease ", id(),
                                         ": it is over, or there never was one. See edl store "
                                         "lease list.")};
    }
    std::sort(lease.keys.begin(), lease.keys.end());
    out.add(json() ? object_line(object(lease)) : words(lease));
    return {};
  }

  Object object(const store::LeaseTimeToLiveResponse& lease) const {
    Object object{{"id", id()}, {"ttl", lease.ttl}, {"granted_ttl", lease.granted_ttl}};
    if (!keys_) return object;
    object["keys"] = Object::array();
    for (const std::string& key : lease.keys) add_bytes(object["keys"].emplace_back(), "key", key);
    return object;
  }

  std::string words(const store::LeaseTimeToLiveResponse& lease) const {
    std::string out =
        text("lease ", id(), " lasts ", lease.ttl, " s more of ", lease.granted_ttl, " s\n");
    for (const std::string& key : lease.keys) out += text(key, "\n");
    return out;
  }

  bool keys_ = false;
};

class LeaseList final : public StoreCommand {
 public:
  explicit LeaseList(CLI::App& app) : StoreCommand(app) {}

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    EDL_TRY(const auto answer, store.ask(&store::Client::leases, store::LeaseLeasesRequest{}));
    std::vector<store::LeaseId> ids;
    for (const store::LeaseStatus& lease : answer.leases) ids.push_back(lease.id);
    std::sort(ids.begin(), ids.end());
    for (const store::LeaseId id : ids) {
      out.add(json() ? object_line({{"id", id}}) : text(id, "\n"));
    }
    return {};
  }
};

}  // namespace

void add_store_lease(CommandLine& line, CLI::App& store, Console& console) {
  CLI::App& lease = line.add_group(
      store, {"lease", "Keys that hang on a lease go when it is over.",
              "id=$(edl store lease grant --ttl=10s)\n"
              "  edl store put /alive yes --lease=$id && edl store lease keep-alive $id"});
  line.add<LeaseGrant>(
      lease, {"grant", "Make a lease; the answer is its id.", "edl store lease grant --ttl=10s"});
  line.add<LeaseKeepAlive>(lease,
                           {"keep-alive", "Keep a lease from ending, until Ctrl-C.",
                            "edl store lease keep-alive 7587862094512345\n"
                            "  edl store lease keep-alive 7587862094512345 --once --json"},
                           console);
  line.add<LeaseRevoke>(lease, {"revoke", "End a lease and delete its keys.",
                                "edl store lease revoke 7587862094512345"});
  line.add<LeaseShow>(lease, {"show", "Tell how long a lease lasts.",
                              "edl store lease show 7587862094512345 --keys"});
  line.add<LeaseList>(lease, {"list", "List all leases.", "edl store lease list --json"});
}

}  // namespace edl::cli
