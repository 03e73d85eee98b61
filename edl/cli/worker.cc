// `edl worker`: what agents start for programs that are built in. Not for people, so it is not
// listed.
#include "edl/cli/commands.h"
#include "edl/train/builtin/programs.h"

namespace edl::cli {
namespace {

class Worker final : public Command {
 public:
  Worker(CLI::App& app, Console& console) : console_(console) {
    app.add_option("PROGRAM", program_, "what to train, and its arguments")
        ->required()
        ->type_name("")
        ->expected(1, -1);
  }

  Result<void> run(Output&) override {
    const int parent = console_.parent_descriptor;
    if (parent < 0) return Error{Code::kInvalid, "edl worker is started by edl run only"};
    EDL_TRY(const train::WorkerProgram program,
            train::builtin_program(program_[0], {program_.begin() + 1, program_.end()}));
    const int code = train::worker_main(program, console_.role, parent);
    if (code == 0) return {};
    return Error{Code::kUnavailable, "the worker could not go on; its log says why"};
  }

 private:
  Console& console_;
  std::vector<std::string> program_;
};

}  // namespace

void add_worker(CommandLine& line, Console& console) {
  CLI::App& app = line.add<Worker>(
      line.root(), {"worker", "Be a worker of a job; started by edl run.", "edl run builtin:mlp"},
      console);
  app.group("");
}

}  // namespace edl::cli
