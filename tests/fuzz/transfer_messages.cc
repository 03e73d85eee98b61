// JSON and bulk bytes into both ends of a state's way to a joiner: neither may fall over, write
// beside its tensors, or say that a state is whole before all of its bytes have come.
#include "edl/os/virtual/world.h"
#include "edl/train/joiner.h"
#include "tests/fuzz/input.h"

namespace {

using namespace edl;
using namespace edl::train;

wire::Secret secret() {
  auto made = wire::Secret::make(bytes_of("a secret of sixteen bytes or more"));
  EDL_CHECK(made.ok());
  return std::move(made).value();
}

struct Node final : os::Program {
  Node(os::System& system, const std::string& id)
      : mesh(system, {.job = "fuzz", .id = id, .secret = secret()},
             {.link = [](const model::WorkerId&, bool) {},
              .silent = [](const model::WorkerId&) {},
              .frame = [](const model::WorkerId&, const wire::Frame&) {},
              .bulk = [](const model::WorkerId&, const wire::Header&, std::uint64_t,
                         ConstBytes) {}}) {
    auto listening = mesh.listen({id, 7, {}});
    EDL_CHECK(listening.ok());
    mesh.know(id == "a" ? "b" : "a", id == "a" ? "b:7" : "a:7");
  }
  membership::Mesh mesh;
};

// Two workers that are connected, made once.
struct Pair {
  Pair() : world({.seed = 1, .quiet = true}) {
    world.install("node", [this](os::System& system, const os::Arguments& argv) {
      auto node = std::make_unique<Node>(system, argv[1]);
      if (argv[1] == "b") b = node.get();
      return node;
    });
    for (const char* id : {"a", "b"}) (void)world.start(world.add_node(id), {"node", id});
    EDL_CHECK(world.run_until([this] { return b != nullptr && b->mesh.connection("a"); }, 10s));
  }
  os::VirtualWorld world;
  Node* b = nullptr;
};

struct Tensors {
  Bytes all = Bytes(64);  // with walls around what may be written
  std::vector<StateTensor> list() {
    return {{"model/w", checkpoint::Dtype::kF32, {4}, ByteSpan(all).subspan(8, 16)},
            {"model/b", checkpoint::Dtype::kU8, {8}, ByteSpan(all).subspan(32, 8)}};
  }
};

constexpr std::uint64_t kReducedBytes = 24;

Json honest_body(tests::FuzzInput& input, const std::string& layout) {
  const std::uint64_t number = input.number() % 4;
  switch (input.number() % 9) {
    case 0: {
      checkpoint::State state;
      state.position.step = model::Step(number);
      return {{"kind", "state"},        {"copy", 1},        {"bytes", 24 + number},
              {"ledger_bytes", number}, {"layout", layout}, {"state", state}};
    }
    case 1: {
      model::StepRecordHeader header;
      header.step = model::Step(number);
      return {{"kind", "record"}, {"header", header}, {"bytes", kReducedBytes}};
    }
    case 2:
      return {{"kind", "stable"}, {"step", number}};
    case 3:
      return {{"kind", "want_state"}, {"at", number}};
    case 4:
      return {{"kind", "want_records"}, {"copy", number}};
    case 5:
      return {{"kind", "want_bytes"}, {"copy", number}, {"from", number}, {"to", input.number()}};
    case 6:
      return {{"kind", "want_record"}, {"step", number}};
    case 7:
      return {{"kind", "no_record"}, {"step", number}};
    default:
      return {{"kind", "enough"}};
  }
}

class Ends {
 public:
  explicit Ends(membership::Mesh& mesh)
      : joiner(mesh, tensors.list(), kReducedBytes,
               {.loaded =
                    [this](const checkpoint::State& state, const Bytes& ledger) {
                      EDL_CHECK(state_bytes_ >= 24 + ledger.size());
                      joiner.applied(state.position.step);
                    },
                .apply = [this](RecordCopy& record) { applied_ = record.header.step; },
                .failed = [](const std::string&) {}}),
        giver(mesh, state_layout(tensors.list()),
              {.copy_state =
                   [this](const auto& done) {
                     auto copy = std::make_shared<checkpoint::StateCopy>();
                     EDL_CHECK(copy->take(as_tensors(tensors.list()), {}).ok());
                     done(copy);
                   },
               .copy_ledger = [](model::Step, const auto& done) { done(Bytes(120)); },
               .serving = [] {}}) {}

  void take(tests::FuzzInput& input) {
    const std::string from(1, static_cast<char>('a' + input.number() % 3));
    switch (input.number() % 8) {
      case 0:
        return joiner.start({"a"}, model::Step(input.number() % 4));
      case 1:
        return joiner.take_record("a", model::Step(input.number() % 4), model::Step());
      case 2:
        if (applied_ != model::Step()) joiner.applied(std::exchange(applied_, {}));
        return;
      case 3: {
        wire::Header header;
        header.type = input.number() % 2 == 0 ? kStateBytes : kRecordBytes;
        header.first = input.number() % 32;
        header.second = input.number() % 32;
        const ConstBytes piece = input.piece(input.number() % 32);
        if (header.type == kStateBytes) state_bytes_ += piece.size();
        (void)joiner.on_bulk(from, header, input.number() % 8, piece);
        return;
      }
      case 4:
        joiner.on_link_lost(from);
        return giver.forget(from);
      case 5:
        record_.step = model::Step(input.number() % 8);
        if (input.number() % 2 == 0) giver.on_reduced(record_, reduced_);
        giver.on_completed(record_, reduced_);
        return giver.on_stable(model::Step(input.number() % 8));
      default:
        return tell(from, input);
    }
  }

  void check_walls() {
    for (std::size_t at = 0; at < tensors.all.size(); ++at) {
      const bool is_inside = (at >= 8 && at < 24) || (at >= 32 && at < 40);
      EDL_CHECK(is_inside || tensors.all[at] == std::byte{0});
    }
  }

 private:
  void tell(const std::string& from, tests::FuzzInput& input) {
    Json body = honest_body(input, state_layout(tensors.list()));
    if (input.number() % 4 == 0) {
      auto json = parse_json(text_of(input.piece(input.number())));
      if (json.ok()) body = std::move(json).value();
    }
    (void)joiner.on_message(from, body);
    (void)giver.on_message(from, body);
  }

  Tensors tensors;
  Joiner joiner;
  Giver giver;
  model::Step applied_{};
  std::uint64_t state_bytes_ = 0;
  model::StepRecordHeader record_{};
  Bytes reduced_ = Bytes(kReducedBytes);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Pair* const pair = new Pair();
  tests::FuzzInput input(data, size);
  {
    Ends ends(pair->b->mesh);
    while (!input.empty()) ends.take(input);
    ends.check_walls();
  }
  pair->world.run_for(10ms);
  return 0;
}
