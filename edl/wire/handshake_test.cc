#include "edl/wire/handshake.h"

#include <gtest/gtest.h>

namespace edl::wire {
namespace {

Secret secret_of(std::string_view words) { return Secret::make(bytes_of(words)).value(); }
Nonce nonce_of(int number) {
  Nonce nonce{};
  nonce[0] = static_cast<std::byte>(number);
  return nonce;
}

// Two processes that may talk to each other several times.
struct Pair {
  Secret client_secret = secret_of("0123456789abcdef");
  Secret server_secret = secret_of("0123456789abcdef");
  NonceBook client_book;
  NonceBook server_book;
  std::string client_job = "job";

  Handshake client(int nonce) {
    return Handshake(Role::kClient, {job_tag(client_job), "c", client_secret, client_book},
                     nonce_of(nonce));
  }
  Handshake server(int nonce) {
    return Handshake(Role::kServer, {job_tag("job"), "s", server_secret, server_book},
                     nonce_of(nonce));
  }
};

// Passes frames to and fro until both are done; answers the first refusal.
std::string talk(Handshake& client, Handshake& server) {
  auto to_server = client.opening();
  while (to_server) {
    const auto to_client = server.receive(*to_server);
    if (!to_client.ok()) return "server: " + to_client.error().message;
    if (!to_client->has_value()) break;
    auto next = client.receive(**to_client);
    if (!next.ok()) return "client: " + next.error().message;
    to_server = std::move(next).value();
  }
  return "";
}

TEST(Handshake, two_who_hold_the_secret_meet) {
  Pair pair;
  Handshake client = pair.client(1);
  Handshake server = pair.server(2);
  EXPECT_EQ(talk(client, server), "");
  EXPECT_TRUE(client.done());
  EXPECT_TRUE(server.done());
  EXPECT_EQ(client.peer_id(), "s");
  EXPECT_EQ(server.peer_id(), "c");
}

TEST(Handshake, a_server_without_the_secret_is_refused_before_the_client_proves_anything) {
  Pair pair;
  pair.server_secret = secret_of("another secret!!");
  Handshake client = pair.client(1);
  Handshake server = pair.server(2);
  EXPECT_EQ(talk(client, server), "client: the job's secret does not match");
  EXPECT_FALSE(client.done());
  EXPECT_FALSE(server.done());
}

TEST(Handshake, a_client_without_the_secret_is_refused) {
  Pair pair;
  Handshake server = pair.server(2);
  Handshake client = pair.client(1);
  ASSERT_TRUE(server.receive(*client.opening()).ok());
  Frame proof;
  proof.header.kind = Kind::kProof;
  proof.header.job = job_tag("job");
  proof.body = {{"proof", std::string(64, '0')}};
  EXPECT_EQ(server.receive(proof).error().message, "the job's secret does not match");
  EXPECT_FALSE(server.done());
}

TEST(Handshake, the_servers_own_proof_cannot_be_sent_back_to_it) {
  Pair pair;
  Handshake server = pair.server(2);
  Handshake client = pair.client(1);
  const auto challenge = server.receive(*client.opening());
  Frame proof;
  proof.header.kind = Kind::kProof;
  proof.header.job = job_tag("job");
  proof.body = {{"proof", (*challenge)->body["proof"]}};
  EXPECT_FALSE(server.receive(proof).ok());
}

TEST(Handshake, a_recorded_conversation_is_refused) {
  Pair pair;
  Handshake client = pair.client(1);
  Handshake server = pair.server(2);
  const Frame hello = *client.opening();
  const Frame challenge = **server.receive(hello);
  const Frame proof = **client.receive(challenge);
  ASSERT_TRUE(server.receive(proof).ok());

  // To a server whose random numbers repeat, even: the nonce was used.
  Handshake again = pair.server(2);
  EXPECT_EQ(again.receive(hello).error().message,
            "a nonce that was used before: a replayed conversation");
  EXPECT_FALSE(again.receive(proof).ok()) << "nothing may follow a refusal";
  // A recorded challenge, to a client.
  Handshake victim = pair.client(1);
  EXPECT_EQ(victim.receive(challenge).error().message,
            "a nonce that was used before: a replayed conversation");
  // The proof a second time, in its own conversation.
  EXPECT_FALSE(server.receive(proof).ok());
}

TEST(Handshake, frames_out_of_place_are_refused) {
  for (const Kind kind :
       {Kind::kMessage, Kind::kPing, Kind::kWelcome, Kind::kProof, Kind::kChallenge}) {
    Pair pair;
    Handshake server = pair.server(2);
    Frame frame;
    frame.header.kind = kind;
    frame.header.job = job_tag("job");
    EXPECT_FALSE(server.receive(frame).ok()) << kind_name(kind);
    EXPECT_FALSE(server.done());
  }
  Pair pair;
  Handshake client = pair.client(1);
  Frame welcome;
  welcome.header.kind = Kind::kWelcome;
  welcome.header.job = job_tag("job");
  EXPECT_FALSE(client.receive(welcome).ok()) << "a server that skips its proof";
  EXPECT_FALSE(client.done());
}

TEST(Handshake, another_job_is_refused) {
  Pair pair;
  pair.client_job = "other";
  Handshake client = pair.client(1);
  Handshake server = pair.server(2);
  EXPECT_EQ(talk(client, server), "server: a frame of another job");
}

TEST(Handshake, a_refusal_tells_its_reason) {
  Pair pair;
  Handshake client = pair.client(1);
  Frame refusal;
  refusal.header.kind = Kind::kRefusal;
  refusal.body = {{"reason", "because"}};
  EXPECT_EQ(client.receive(refusal).error().message, "refused by the other end: because");
}

TEST(Handshake, ids_and_nonces_must_be_well_formed) {
  const std::string nonce(64, 'a');
  for (const Json& body : std::vector<Json>{
           {{"id", ""}, {"nonce", nonce}},
           {{"id", "a b"}, {"nonce", nonce}},
           {{"id", std::string(200, 'x')}, {"nonce", nonce}},
           {{"id", "c"}, {"nonce", "aa"}},
           {{"id", "c"}, {"nonce", std::string(64, 'z')}},
           {{"id", 5}, {"nonce", nonce}},
           {{"nonce", nonce}},
           Json("hello"),
       }) {
    Pair pair;
    Handshake server = pair.server(2);
    Frame hello;
    hello.header.kind = Kind::kHello;
    hello.header.job = job_tag("job");
    hello.body = body;
    EXPECT_FALSE(server.receive(hello).ok()) << json_line(body);
  }
}

TEST(Secret, must_be_long_enough) {
  EXPECT_FALSE(Secret::make(bytes_of("short")).ok());
  EXPECT_TRUE(Secret::make(bytes_of("0123456789abcdef")).ok());
}

TEST(NonceBook, accepts_each_once_and_forgets_the_oldest) {
  NonceBook book(2);
  EXPECT_TRUE(book.use(nonce_of(1)));
  EXPECT_FALSE(book.use(nonce_of(1)));
  EXPECT_TRUE(book.use(nonce_of(2)));
  EXPECT_TRUE(book.use(nonce_of(3)));
  EXPECT_FALSE(book.use(nonce_of(2)));
  EXPECT_TRUE(book.use(nonce_of(1))) << "forgotten by now";
}

}  // namespace
}  // namespace edl::wire
