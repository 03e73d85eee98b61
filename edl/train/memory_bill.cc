#include "edl/train/memory_bill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "edl/base/text.h"
#include "edl/checkpoint/state_copy.h"
#include "edl/wire/shared_bulk.h"

namespace edl::train {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 50;  // of one field, from outside

struct Field {
  const char* name;
  std::uint64_t MemoryFacts::*value;
};
constexpr std::array<Field, 5> kFields{{{"model_bytes", &MemoryFacts::model_bytes},
                                        {"optimizer_bytes", &MemoryFacts::optimizer_bytes},
                                        {"gradient_bytes", &MemoryFacts::gradient_bytes},
                                        {"sum_bytes", &MemoryFacts::sum_bytes},
                                        {"reduced_bytes", &MemoryFacts::reduced_bytes}}};

std::string bill_text(const MemoryBill& bill) {
  return text("parameters ", bytes_text(bill.parameters), ", optimizer ",
              bytes_text(bill.optimizer), ", gradients ", bytes_text(bill.gradients),
              ", partial sums ", bytes_text(bill.partial_sums), ", the last step ",
              bytes_text(bill.reduced), ", copies ", bytes_text(bill.copies), ", receiving ",
              bytes_text(bill.receiving));
}

}  // namespace

MemoryFacts memory_facts(Trainee& trainee) {
  MemoryFacts facts;
  for (const StateTensor& tensor : trainee.state()) {
    const bool is_model = tensor.name.starts_with(checkpoint::kModelPrefix);
    (is_model ? facts.model_bytes : facts.optimizer_bytes) += tensor.bytes.size();
  }
  const collective::Layout layout(trainee.segments());
  for (std::size_t i = 0; i < trainee.gradient_segments(); ++i) {
    facts.gradient_bytes += layout.sums(i).bytes;
  }
  facts.sum_bytes = layout.sum_bytes();
  facts.reduced_bytes = layout.reduced_bytes();
  return facts;
}

void to_json(Json& json, const MemoryFacts& facts) {
  for (const Field& field : kFields) json[field.name] = facts.*field.value;
}

Result<MemoryFacts> memory_facts_from(const Json& json) {
  JsonReader in(json, "memory");
  MemoryFacts facts;
  for (const Field& field : kFields) {
    in.read(field.name, facts.*field.value);
    if (facts.*field.value > kBytesMax) in.fail(text("\"", field.name, "\" is no size"));
  }
  EDL_TRY(in.finish());
  return facts;
}

std::uint32_t sums_of_subtree(std::uint32_t carried) {
  return static_cast<std::uint32_t>(std::bit_width(carried));
}

// A range without the first and the last leaf of the tree: one sum of each size on both sides of
// the middle, and the last part before it is added.
std::uint32_t sums_at_worst(std::uint32_t logical_workers) {
  const auto depth = static_cast<std::uint32_t>(std::bit_width(logical_workers - 1));
  return depth < 2 ? depth + 1 : 2 * depth - 1;
}

MemoryBill memory_bill(const MemoryFacts& facts, const MemoryTerms& terms) {
  const std::uint64_t state = facts.model_bytes + facts.optimizer_bytes;
  const bool others_join = terms.members_max > 1;
  MemoryBill bill{.parameters = facts.model_bytes,
                  .optimizer = facts.optimizer_bytes,
                  .gradients = facts.gradient_bytes,
                  .partial_sums = facts.sum_bytes * sums_at_worst(terms.logical_workers),
                  .reduced = facts.reduced_bytes};
  bill.copies =
      (terms.checkpoints ? state : 0) + (others_join ? state + 2 * facts.reduced_bytes : 0);
  // Of two members each owns half of the chunks, and gets all sums of the other for them: at most
  // as many as it can hold. With more members each owns less.
  if (others_join) bill.receiving = facts.sum_bytes * sums_at_worst(terms.logical_workers) / 2;
  const wire::SharedMemoryBudget lent;
  if (facts.sum_bytes >= lent.placed_bytes_min) {
    bill.receiving += std::min(lent.bytes_left, (terms.members_max - 1) * lent.ring_bytes);
  }
  const std::uint32_t carried =
      (terms.logical_workers + terms.members - 1) / std::max(1u, terms.members);
  bill.least = state + facts.reduced_bytes + facts.sum_bytes * sums_of_subtree(carried);
  return bill;
}

void to_json(Json& json, const MemoryBill& bill) {
  json = Json{{"parameters", bill.parameters}, {"optimizer", bill.optimizer},
              {"gradients", bill.gradients},   {"partial_sums", bill.partial_sums},
              {"reduced", bill.reduced},       {"copies", bill.copies},
              {"receiving", bill.receiving},   {"least", bill.least},
              {"total", bill.total()}};
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> words{};
  std::snprintf(words.data(), words.size(), value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return words.data();
}

Result<std::string> fit_memory(const MemoryBill& bill, std::uint32_t workers,
                               std::uint64_t available) {
  const std::uint64_t fitting = available / std::max<std::uint64_t>(1, bill.least);
  if (fitting < workers) {
    return Error{Code::kExhausted,
                 text(workers, " worker", workers == 1 ? " needs" : "s need", " at least ",
                      bytes_text(bill.least * workers), " here, and there are ",
                      bytes_text(available), " (", bill_text(bill), "). ",
                      fitting == 0 ? "Use a machine with more memory, or a smaller model"
                                   : text("Ask for at most ", fitting, ", or use more machines"))};
  }
  if (bill.total() <= available / workers) return std::string();
  return text("Memory may run out: ", workers, " worker", workers == 1 ? " takes" : "s take",
              " up to ", bytes_text(bill.total() * workers), " here, and there are ",
              bytes_text(available), ".");
}

}  // namespace edl::train
