// A key that is there as long as we are: it hangs on a lease that is renewed, and when the lease is
// lost (the store forgot us, or could not hear us for too long) it comes back by itself.
#pragma once

#include "edl/store/store.h"

namespace edl::store {

struct RegistrationOptions {
  std::string key;
  std::string value;
  Duration lease = 10s;
  // Called when the key is there, and when it may be gone.
  std::function<void(bool registered)> on_change = [](bool) {};
};

class Registration {
 public:
  Registration(Store& store, RegistrationOptions options);

  bool registered() const { return registered_; }
  LeaseId lease() const { return lease_; }
  // Takes the key away now. Without it, it goes when the lease is over.
  void leave(std::function<void()> done);

 private:
  void grant();
  void put();
  void renew();
  void renew_later();
  void again();
  void begin_anew();
  void set_registered(bool registered);

  Store& store_;
  const RegistrationOptions options_;
  LeaseId lease_ = 0;
  bool registered_ = false;
  Time sure_until_{};  // the lease lasts at least so long
  Duration pause_;
  os::Task step_;  // what is tried again after a failure
  os::Pending call_;
  os::Pending timer_;
};

}  // namespace edl::store
