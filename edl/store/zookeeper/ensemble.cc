#include "edl/store/zookeeper/ensemble.h"

namespace edl::store::zookeeper {
namespace {

constexpr Duration kPause = 50ms;

}  // namespace

Ensemble::Ensemble(os::System& system, Options options)
    : system_(system), options_(std::move(options)) {
  open();
}

void Ensemble::open() {
  session_ = Session::open(
      system_, {.hosts = options_.hosts,
                .timeout = options_.session_timeout,
                .on_over =
                    [this] {
                      system_.log().warn("session expired", {{"hosts", options_.hosts}});
                      opening_ = system_.after(kPause, [this] {
                        open();
                        tell([](Listener& listener) { listener.on_new_session(); });
                      });
                    },
                .on_changed =
                    [this](const std::string& path) {
                      tell([&path](Listener& listener) { listener.on_changed(path); });
                    }});
}

// Who is told may add and remove listeners.
void Ensemble::tell(const std::function<void(Listener&)>& what) {
  for (Listener* listener : std::set(listeners_)) {
    if (listeners_.contains(listener)) what(*listener);
  }
}

}  // namespace edl::store::zookeeper
