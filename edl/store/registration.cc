#include "edl/store/registration.h"

#include <algorithm>

namespace edl::store {
namespace {

constexpr Duration kPauseMin = 50ms;
constexpr Duration kPauseMax = 1s;

}  // namespace

Registration::Registration(Store& store, RegistrationOptions options)
    : store_(store), options_(std::move(options)), pause_(kPauseMin) {
  grant();
}

void Registration::grant() {
  step_ = [this] { grant(); };
  const Time asked = store_.system().now();
  call_ = store_.grant(options_.lease, [this, asked](Result<LeaseId> lease) {
    if (!lease.ok()) return again();
    lease_ = *lease;
    sure_until_ = asked + options_.lease;
    put();
  });
}

// May be done twice: the same value under the same lease.
void Registration::put() {
  step_ = [this] { put(); };
  const Change change{.puts = {{options_.key, options_.value, lease_}}};
  call_ = store_.change(change, [this](Result<Changed> changed) {
    if (!changed.ok() && changed.error().code == Code::kNotFound) return begin_anew();
    if (!changed.ok()) return again();
    pause_ = kPauseMin;
    set_registered(true);
    renew_later();
  });
}

void Registration::renew_later() {
  timer_ = store_.system().after(options_.lease / 3, [this] { renew(); });
}

void Registration::renew() {
  step_ = [this] { renew(); };
  const Time asked = store_.system().now();
  call_ = store_.renew(lease_, [this, asked](Result<Duration> length) {
    if (!length.ok() && length.error().code == Code::kNotFound) return begin_anew();
    if (!length.ok()) return again();
    sure_until_ = asked + std::min(*length, options_.lease);
    pause_ = kPauseMin;
    set_registered(true);
    renew_later();
  });
}

// The store did not answer. The lease may outlast that, but we cannot be sure for ever.
void Registration::again() {
  if (store_.system().now() >= sure_until_) set_registered(false);
  timer_ = store_.system().after(pause_, [this] {
    const os::Task step = step_;
    step();
  });
  pause_ = std::min(pause_ * 2, kPauseMax);
}

void Registration::begin_anew() {
  set_registered(false);
  grant();
}

void Registration::set_registered(bool registered) {
  if (registered_ == registered) return;
  registered_ = registered;
  options_.on_change(registered);
}

void Registration::leave(std::function<void()> done) {
  timer_.cancel();
  if (lease_ == 0) {
    call_ = store_.system().after(Duration::zero(), std::move(done));
    return;
  }
  call_ = store_.revoke(lease_, [this, done = std::move(done)](const Result<void>&) {
    registered_ = false;
    done();
  });
}

}  // namespace edl::store
