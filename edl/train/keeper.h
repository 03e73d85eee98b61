// What a worker keeps on disk: its ledger, the views it knew, checkpoints. All of it is done by an
// executor of its own, in order, so that training never waits for a disk; answers come on the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/writer.h"
#include "edl/data/ledger_file.h"
#include "edl/data/views_file.h"
#include "edl/model/view.h"
#include "edl/train/executor.h"
#include "edl/train/trainee.h"

namespace edl::train {

// What a worker begins with.
struct Loaded {
  std::optional<checkpoint::State> state{};  // nothing: there is no checkpoint
  std::vector<std::string> passed_over{};
  std::uint64_t kept_steps = 0;  // that the ledgers of all workers have; more than the state, maybe
};

class Keeper {
 public:
  Keeper(os::System& system, Executor& executor, std::string dir, model::WorkerId id);

  // Opens the files. `done` gets the first error.
  void open(std::function<void(Result<void>)> done);

  void add_view(const model::View& view);
  void add_step(const model::LedgerRecord& record);
  // The ledger of another member, up to the state that was taken from it.
  void begin_ledger(Bytes records);
  void copy_ledger(model::Step last, std::function<void(Bytes)> done);

  // Fills the tensors from the newest whole checkpoint of these, and the ledger up to there from
  // those of other workers.
  void load(std::vector<StateTensor> tensors, std::vector<checkpoint::Recorded> recorded,
            std::function<void(Result<Loaded>)> done);
  using OnPhase = std::function<void(checkpoint::Phase)>;
  void write(std::shared_ptr<const checkpoint::StateCopy> copy, OnPhase on_phase,
             std::function<void(Result<checkpoint::Written>)> done);
  void write_model(std::shared_ptr<const checkpoint::StateCopy> copy,
                   std::function<void(Result<void>)> done);
  // Deletes checkpoints that are not needed any more.
  void prune(std::vector<checkpoint::Recorded> recorded);

 private:
  // Of the executor.
  struct Files {
    std::unique_ptr<data::LedgerFile> ledger;
    std::unique_ptr<data::ViewsFile> views;
  };

  void flush();  // before work that needs the ledger as it is now
  Result<void> open_files();
  // Answers how many steps they have.
  Result<std::uint64_t> begin_from_others(model::Step last);

  os::System& system_;
  Executor& executor_;
  const std::string dir_;
  const model::WorkerId id_;
  const Log log_;
  const std::shared_ptr<Files> files_ = std::make_shared<Files>();
  std::vector<model::LedgerRecord> waiting_;  // for the next flush
  bool flushing_ = false;
};

}  // namespace edl::train
