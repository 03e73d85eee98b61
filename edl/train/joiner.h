// Gets a state from members, or only the last record: the other end of Giver. The state's bytes go
// straight to their places, in ranges from several members that hold the same copy; a member that
// is lost is replaced at the ranges it had not sent yet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "edl/train/transfer.h"

namespace edl::train {

struct JoinerEvents {
  // All bytes are in place: the state after `state.position.step`, and the ledger up to there.
  std::function<void(const checkpoint::State& state, Bytes ledger)> loaded;
  // The next record, which may be applied now. Answered by `applied`.
  std::function<void(RecordCopy&)> apply;
  // Whether a leader counts on the state as it is: only what it asks for is applied.
  std::function<bool()> holds_still;
  std::function<void(const std::string& reason)> failed;
};

class Joiner {
 public:
  static constexpr std::size_t kGiversMax = 4;
  static constexpr std::uint64_t kRangeBytes = 8 << 20;
  static constexpr std::uint64_t kLedgerBytesMax = std::uint64_t{8} << 30;

  // `tensors` are where the state goes; nobody else uses them until `loaded`.
  Joiner(membership::Mesh& mesh, std::vector<StateTensor> tensors, std::uint64_t reduced_bytes,
         JoinerEvents events);

  // Memory for records to come, before `start`. The members will wait for who still has to get it.
  std::vector<std::shared_ptr<RecordCopy>> make_room() { return copies_.keep(2, reduced_bytes_); }
  // Begins anew, with the state after `at` or a later step.
  void start(const std::vector<model::WorkerId>& givers, model::Step at);
  void cancel();
  // The record of `step` is to be applied to the state after `here`, stable or not: `from` has it.
  void take_record(const model::WorkerId& from, model::Step step, model::Step here);
  // Nobody wants that record to be applied any more.
  void drop_record();
  // The state is the one after this step now; more may follow.
  void applied(model::Step step);

  Result<void> on_message(const model::WorkerId& from, const Json& body);
  Result<void> on_bulk(const model::WorkerId& from, const wire::Header& header,
                       std::uint64_t offset, ConstBytes piece);
  void on_link_lost(const model::WorkerId& id);

  bool is_stable(model::Step step) const { return step <= stable_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t filled = 0;
  };
  struct Source {
    std::uint64_t copy = 0;
    std::optional<Range> asked{};
  };
  // A record on its way, from one worker: another one's of the same step may be of another view.
  struct Coming {
    model::WorkerId from{};
    std::shared_ptr<RecordCopy> record{};
    std::uint64_t filled = 0;
    bool has_header = false;
  };

  Result<void> on_state(const model::WorkerId& from, const Json& body);
  Result<void> on_record(const model::WorkerId& from, const Json& body);
  Result<void> on_record_bytes(const model::WorkerId& from, const wire::Header& header,
                               std::uint64_t offset, ConstBytes piece);
  Coming* coming(const model::WorkerId& from, model::Step step);
  bool is_giver(const model::WorkerId& id) const;
  void ask_ranges();
  void place(std::uint64_t at, ConstBytes piece);
  void finish_state();
  void apply_next();
  void forget();
  void fail(const std::string& reason);
  void send(const model::WorkerId& id, const Json& body);

  membership::Mesh& mesh_;
  const std::vector<StateTensor> tensors_;  // in the order of their names
  const std::string layout_;
  const std::uint64_t reduced_bytes_;
  const JoinerEvents events_;

  bool joining_ = false;
  bool loaded_ = false;
  std::set<model::WorkerId> asked_;
  std::optional<checkpoint::State> state_;
  std::uint64_t bytes_ = 0;
  Bytes ledger_;
  std::map<model::WorkerId, Source> sources_;
  model::WorkerId records_from_;
  std::vector<Range> missing_;
  std::uint64_t received_ = 0;

  model::Step here_{};
  model::Step stable_{};
  model::Step demanded_{};
  model::WorkerId demanded_from_;
  bool applying_ = false;
  std::map<model::Step, Coming> records_;
  RecordCopies copies_;
};

}  // namespace edl::train
