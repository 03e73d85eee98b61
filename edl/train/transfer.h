// How a state goes from members to a worker that joins, while they train on: a copy of the state
// after some step, in ranges from several members, then the record of each step behind it. The same
// way a member that is one step behind gets the last record.
//
// Messages between workers, type kTransferMessage, with `kind` in the body:
//   joiner  want_state   {at}                a copy of the state after this step, or the next
//   giver   state        {copy, state, layout, bytes, ledger_bytes}  it is here; ask for ranges
//   joiner  want_bytes   {copy, from, to}
//   joiner  want_records {copy}              the state is whole; now every record behind it
//   giver   record       {header, bytes}     its bytes come as bulk, before this or behind it
//   giver   stable       {step}              what you have up to here is stable
//   joiner  enough       {}                  no more
//   anyone  want_record  {step}              one record for who is behind
//   giver   no_record    {step}              it is not here
// Bulk: kStateBytes (first: offset, second: copy), kRecordBytes (first: step, second: offset).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/state_copy.h"
#include "edl/membership/mesh.h"
#include "edl/model/record.h"
#include "edl/train/executor.h"
#include "edl/train/record_copy.h"
#include "edl/train/trainee.h"

namespace edl::train {

inline constexpr std::uint32_t kTransferMessage = 2;
inline constexpr std::uint32_t kStateBytes = wire::kFirstBulkType + 0x100;
inline constexpr std::uint32_t kRecordBytes = wire::kFirstBulkType + 0x101;
inline constexpr std::uint64_t kPieceBytes = 1 << 20;

// SHA-256 in hex over the tensors' names, types and shapes: two programs with the same one can
// exchange states.
std::string state_layout(const std::vector<StateTensor>& tensors);
std::vector<checkpoint::Tensor> as_tensors(const std::vector<StateTensor>& tensors);
// The same tensors, to be filled.
std::vector<checkpoint::TensorPlaceholder> places_of(const std::vector<StateTensor>& tensors);

// Copies whose memory is used again: new memory comes page by page, which takes longer than to copy
// into it.
class RecordCopies {
 public:
  // One that nobody else holds, of so many bytes, whatever they are.
  std::shared_ptr<RecordCopy> take(std::size_t bytes);
  // Keeps so many from now on, and answers them: whoever touches them spares that to others.
  std::vector<std::shared_ptr<RecordCopy>> keep(std::size_t count, std::size_t bytes);
  void clear() { kept_.clear(); }

 private:
  std::vector<std::shared_ptr<RecordCopy>> kept_;
};

struct GiverEvents {
  // The state as it is after all that was asked of the executor; told on the loop.
  std::function<void(std::function<void(std::shared_ptr<checkpoint::StateCopy>)>)> copy_state;
  // The ledger up to this step, as bytes; told on the loop.
  std::function<void(model::Step, std::function<void(Bytes)>)> copy_ledger;
  std::function<void()> serving;  // about to give a copy
};

class Giver {
 public:
  Giver(membership::Mesh& mesh, std::string layout, GiverEvents events)
      : mesh_(mesh), layout_(std::move(layout)), events_(std::move(events)) {}

  Result<void> on_message(const model::WorkerId& from, const Json& body);
  // A step will be applied, whatever happens; its bytes can leave already.
  void on_reduced(const model::StepRecordHeader& record, ConstBytes reduced);
  // A step was applied; `record` is what left the tree.
  void on_completed(const model::StepRecordHeader& record, ConstBytes reduced);
  void on_stable(model::Step step);
  // The state is another one now, and it is stable.
  void on_loaded(model::Step step) { completed_ = stable_ = step; }
  // No step follows for now: who waits for one gets the state as it is.
  void set_halted(bool halted);
  // The reduced numbers of the last step are about to be overwritten: nobody needs them any more.
  void on_overwriting() { record_ = nullptr; }
  // We are no member any more, or nobody is there to give to.
  void forget(const model::WorkerId& id);
  void forget_all();
  bool is_giving() const { return !clients_.empty(); }
  // Memory for the records that will be given.
  std::vector<std::shared_ptr<RecordCopy>> make_room(std::size_t bytes) {
    return copies_.keep(2, bytes);
  }

 private:
  // The bytes of a copy: all tensors in order, then the ledger.
  struct Copy {
    std::shared_ptr<checkpoint::StateCopy> state;
    Bytes ledger;
    std::uint64_t bytes = 0;
  };
  struct Client {
    model::Step at{};          // wants the state after this step or a later one
    std::uint64_t number = 0;  // of its copy; 0: none yet
    std::shared_ptr<const Copy> copy{};
    bool told = false;
    bool wants_records = false;
    model::Step sent{};      // the last record that it was sent
    model::Step headless{};  // the last of which it has the bytes only
    std::deque<std::shared_ptr<const RecordCopy>> waiting{};  // until it wants them
  };

  void begin_copy(const model::WorkerId& id);
  void offer(const model::WorkerId& id);
  void send_range(const model::WorkerId& id, std::uint64_t from, std::uint64_t to);
  void send_header(const model::WorkerId& id, const model::StepRecordHeader& header,
                   std::size_t bytes);
  void send_bytes(const model::WorkerId& id, std::shared_ptr<const RecordCopy> record);
  void send_record(const model::WorkerId& id, std::shared_ptr<const RecordCopy> record);
  void tell_stable(const model::WorkerId& id);
  std::shared_ptr<RecordCopy> copy_of(const model::StepRecordHeader& record, ConstBytes reduced);
  void send(const model::WorkerId& id, const Json& body);

  membership::Mesh& mesh_;
  const std::string layout_;
  const GiverEvents events_;
  std::map<model::WorkerId, Client> clients_;
  std::set<model::WorkerId> copying_;
  model::Step completed_{};
  model::Step stable_{};
  std::shared_ptr<RecordCopy> last_;  // made when somebody asks for it
  RecordCopies copies_;
  const model::StepRecordHeader* record_ = nullptr;
  ConstBytes reduced_{};
  std::uint64_t next_copy_ = 1;
  bool halted_ = false;
};

}  // namespace edl::train
