// Who trains together: what one worker knows of it and decides about it. Plain state: facts and the
// time in, actions out. Copies are independent, so a test can try every order of events.
//
// What always holds, for all workers of a job together:
//  - a member that has promised for a generation completes nothing in older ones, and follows no
//    lower ballot;
//  - a view is published only after every member of it has completed the step before its first;
//  - so all members of a view begin with equal states, and no stable step is ever computed again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "edl/membership/action.h"
#include "edl/membership/agreement.h"
#include "edl/membership/broken_links.h"
#include "edl/membership/candidate.h"
#include "edl/membership/facts.h"
#include "edl/membership/refusals.h"
#include "edl/membership/rules.h"
#include "edl/membership/view_change.h"

namespace edl::membership {

class Core {
 public:
  Core(model::WorkerId self, Rules rules) : self_(std::move(self)), rules_(rules) {}

  // Before every fact: the time, and how long a leader may be silent and an undisturbed step takes.
  void set_time(Time now, Duration silence, Duration step = {});

  // Facts of the store.
  void on_wanted(const Wanted& wanted);
  void on_leader(model::Ballot ballot, const model::WorkerId& id);
  void on_view(const model::View& view, model::Revision revision);
  void on_registered(const model::WorkerId& id, const Registered& worker);
  void on_unregistered(const model::WorkerId& id);
  void on_complaint(model::Ballot ballot, const model::WorkerId& by);
  void on_current();  // the whole picture was told once

  // Answers to actions.
  void on_elected(model::Ballot ballot, std::optional<model::View> view, model::Revision revision);
  void on_announced(bool done);
  void on_published(bool done, model::Revision revision);

  // Facts of the others.
  void on_message(const model::WorkerId& from, const Message& message);
  void on_link(const model::WorkerId& id, bool up);
  void on_silent(const model::WorkerId& id);

  // Facts of this worker.
  void on_state(const model::Position& here);   // it holds this state (spares only)
  void on_terms(const Terms& terms);            // of the state that it loaded from disk
  void on_no_state(const std::string& reason);  // getting it failed; begin anew
  void on_applying() { busy_ = true; }
  void on_not_applied() { busy_ = false; }
  void on_completed(const model::Position& here);
  void on_leave(model::Cause cause);  // it has to go
  void on_worked(double samples_per_second, const std::optional<StateMark>& mark = {});
  void on_batch(std::uint64_t global, const std::string& reason);  // another one trains more
  void look();  // time has passed; to be called every few tens of milliseconds
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  const model::WorkerId& self() const { return self_; }
  const std::optional<model::View>& view() const { return view_; }
  const model::WorkerId& leader() const { return leader_id_; }
  model::Ballot ballot() const { return ballot_; }
  bool leads() const { return leading_; }
  bool is_member() const { return entered_ != model::Generation(); }
  bool is_training() const { return is_member() && !left_ && view_->halt.empty(); }
  const Wanted& wanted() const { return wanted_; }
  bool is_undisturbed() const;  // it trains and leads, and nobody is there who could join
  const model::Position& here() const { return here_; }
  bool has_state() const { return has_state_; }
  // As a joiner: a leader was told what it has, and a view may count on just that.
  bool holds_still() const { return owed_ && !is_member(); }
  model::Generation promised() const { return promised_; }
  std::string_view change_phase() const;  // of the view change that it makes as the leader
  const std::string& waits_for() const { return waits_for_; }  // in words; empty when it trains
  std::string state_text() const;  // all that decides, for comparing states

 private:
  using Phase = ChangePhase;
  struct Difference {
    Ids came{}, died{}, left{};
  };
  struct Owed {  // a promise that the leader waits for
    model::WorkerId leader{};
    model::Ballot ballot{};
    model::Generation generation{};
    model::Step stop_after{};
    Ids joiners{};
  };

  // Every member (member.cc).
  void on_prepare(const model::WorkerId& from, const Message& message);
  void on_hand_over(const model::WorkerId& from, const Message& message);
  void on_admit(const model::WorkerId& from, const Message& message);
  void learn(const model::View& view);
  void enter(const model::View& view);
  void become_spare(const std::string& reason);
  void owe(Owed owed);
  void answer();
  void leave_collective(const std::string& reason);
  void trouble(const model::WorkerId& with);
  void complain();
  void ask();
  void ask_soon();
  void beat();
  void heed_beat(const model::WorkerId& from, const Message& beat);
  void ask_to_join();
  void ask_to_leave();
  Ids unreachable(const Ids& joiners) const;
  void send(const model::WorkerId& to, Message message);

  // Elections (election.cc).
  void campaign();
  std::string why_leader_is_gone() const;
  bool is_accused_enough() const;
  bool is_lost() const;  // no member of the view is left
  bool is_gone(const model::WorkerId& id) const;
  bool is_exited(const model::WorkerId& id) const;
  Ids heirs() const;
  void step_down();  // until the store says who leads

  // The leader: what should change (lead.cc).
  void lead();
  void consider();
  void found();
  void admit();
  bool is_forced() const;
  bool is_planned() const;
  void balance();
  bool give_lead(const std::string& reason);
  bool has_successor_room(const Ids& stay) const;
  std::size_t room(const Ids& stay) const;
  void on_join(const model::WorkerId& from, const Message& message);
  void on_accuse(const model::WorkerId& from, const Message& message);
  bool reaches(const model::WorkerId& id) const;
  Ids alive_members() const;
  Ids staying(const Ids& members) const;
  Ids ready_joiners(std::size_t room) const;

  // The leader: how it is changed (change.cc; who goes on: weigh.cc).
  void begin(bool forced);
  void prepare_in_time();
  void prepare();
  void ask(const model::WorkerId& id);
  void on_promise(const model::WorkerId& from, const Message& message);
  void weigh();
  BrokenLinks broken_links(const Ids& alive) const;
  bool waits_to_yield(const BrokenLinks& broken, const Places& drop);
  void give_lead_beyond(const Places& dropped);
  void settle_on(const Ids& kept);
  void choose_joiners(const Ids& kept, std::size_t room);
  void hand_over();
  bool has_step(const model::WorkerId& id);
  bool joiners_are_done();
  void conclude();
  Ids composed(Ids stay, const Ids& joiners) const;
  std::optional<HaltKind> halt_of(const Ids& members) const;
  void publish(const Ids& members, std::optional<HaltKind> halt);
  model::View plan(const Ids& members) const;
  std::optional<Terms> terms_before() const;
  Difference difference(const model::View& next) const;
  void explain(model::View& next) const;
  void explain_halt(model::View& next, HaltKind kind) const;
  std::string change_text() const;

  const model::WorkerId self_;
  const Rules rules_;
  Time now_{};
  Duration silence_{};
  Duration step_{};  // 0: nobody knows
  std::vector<Action> actions_;

  // What the store says.
  bool current_ = false;
  Wanted wanted_;
  bool wanted_changed_ = false;  // since the last view
  model::Ballot ballot_;
  model::WorkerId leader_id_;
  std::optional<model::View> view_;
  model::Revision view_revision_;
  std::map<model::WorkerId, Registered> registered_;
  std::map<model::WorkerId, Time> gone_since_;
  std::set<model::WorkerId> complaints_;  // about the leader of `ballot_`

  // What this worker is.
  model::Position here_;  // of the state that it holds
  Time step_began_{};     // that it computes as a member
  bool has_state_ = false;
  bool busy_ = false;              // applying
  bool taking_ = false;            // the record that a leader told it to take
  bool orphaned_ = false;          // as a joiner: nobody gives it more, but it has promised
  bool handed_over_ = false;       // as a joiner: holds a step that may not be stable
  model::Generation entered_;      // 0: no member
  model::Generation promised_;     // completes nothing in older ones
  model::Ballot promised_ballot_;  // follows no lower one
  bool left_ = true;               // the collectives of `entered_`
  std::optional<Owed> owed_;
  std::optional<model::Cause> leaving_;
  std::set<model::WorkerId> up_;       // links that work
  std::set<model::WorkerId> silent_;   // links that are up and suspected
  std::set<model::WorkerId> accused_;  // links that broke in `entered_`
  bool from_disk_ = false;             // the state is not of the members
  std::optional<Terms> terms_;         // of a state that it was given, until a view is made
  bool loading_ = false;               // the state is on its way
  std::optional<Time> campaign_at_;
  double speed_ = 0;  // our own, samples a second
  bool is_told_ = true;
  Time beat_at_{};  // not before: to tell it
  Time ask_at_{};   // when to tell the leader again what we want
  Time news_at_{};  // not before: to tell it that another link is up
  Time join_at_{};  // not before: we were left out
  Duration join_pause_{};
  std::optional<Time> complained_at_;  // about the leader of `ballot_`
  std::string waits_for_;

  // What it does when it leads.
  bool leading_ = false;
  bool must_change_ = false;  // elected, and no view is made yet
  ViewChange change_;
  std::map<model::WorkerId, Candidate> candidates_;
  Refusals refusals_;
  std::map<model::WorkerId, model::Cause> leavers_;
  std::set<std::pair<model::WorkerId, model::WorkerId>> broken_;  // in the present generation
  Balance balance_;
  Agreement agreement_;
  std::optional<Balance::Verdict> uneven_;  // a view is wanted although the members stay
  std::optional<std::uint64_t> chosen_batch_;
  model::WorkerId replaced_;        // a member that is to get a successor
  Time replace_at_{};               // when to ask for it again
  std::set<model::WorkerId> deaf_;  // in the present generation: they say that they do not hear us
  std::optional<Time> founding_since_;
};

}  // namespace edl::membership
