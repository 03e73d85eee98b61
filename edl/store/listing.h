// Reads all keys under a prefix, page by page, as they were at one revision.
#pragma once

#include "edl/store/client.h"

namespace edl::store {

struct Listed {
  Revision revision = 0;
  std::vector<KeyValue> kvs{};
};

class Listing final : public os::Pending::Operation {
 public:
  Listing(Client& client, std::string prefix, Done<Listed> done);

 private:
  void read();
  void on_page(Result<RangeResponse> page);
  void finish(Result<Listed> result);

  Client& client_;
  RangeRequest request_;
  const std::string first_key_;
  Listed listed_;
  int restarts_ = 0;
  Done<Listed> done_;
  os::Pending page_;
};

}  // namespace edl::store
