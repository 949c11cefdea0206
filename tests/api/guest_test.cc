// The library in a program with threads, signals and OpenMP of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/api/policy_fixture.h"

namespace starling::api {
namespace {

// A program that computes with OpenMP's threads, too, and has handlers of signals.
TEST_F(PolicyTest, LeavesTheThreadAsItIs) {
  Save({"env.name=minatar/breakout"});
  std::thread([this] {
    omp_set_num_threads(3);
    sigset_t blocked, now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    stack_t before{};  // none, except under a sanitizer
    sigaltstack(nullptr, &before);
    const auto expect_as_it_was = [&] {
      EXPECT_EQ(omp_get_max_threads(), 3);
      stack_t stack{};
      sigaltstack(nullptr, &stack);
      EXPECT_EQ(stack.ss_flags, before.ss_flags);
      EXPECT_EQ(stack.ss_sp, before.ss_sp);
      pthread_sigmask(SIG_SETMASK, nullptr, &now);
      EXPECT_EQ(sigismember(&now, SIGUSR2), 1);
      EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
    };
    const Handle policy = Open(1, true);
    expect_as_it_was();
    const std::vector<float> seen(static_cast<std::size_t>(SpacesOf(policy).numbers), 0.0f);
    std::int32_t action = 0;
    EXPECT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, &action), STARLING_OK);
    expect_as_it_was();
  }).join();
}

// oneDNN's product of these sizes keeps its stack pointer in the heap, where a handler would write.
TEST_F(PolicyTest, SignalsWaitWhileTheNetComputes) {
  Save({"env.name=catch", "net.kind=mlp", "net.hidden=[64,600]"});
  struct sigaction handler {};
  handler.sa_handler = [](int) {
    volatile char used[2048];
    for (volatile char& byte : used) byte = 7;
  };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);  // without SA_ONSTACK
  std::atomic<bool> over{false};
  const pthread_t acting = pthread_self();
  std::thread sends([&] {
    while (!over) {
      pthread_kill(acting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  const Handle policy = Open(600, false);
  const std::vector<float> seen(600 * 50, 0.5f);
  std::vector<std::int32_t> actions(600);
  for (int step = 0; step < 100; ++step) {
    ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK);
  }
  over = true;
  sends.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(PolicyTest, HandlesOfOneCheckpointActInThreadsOfTheirOwn) {
  Save({"env.name=minatar/breakout"});
  constexpr int kEnvs = 16, kThreads = 4;
  const auto act = [this](std::vector<std::int32_t>& all) {
    const Handle policy = Open(kEnvs, false);
    std::vector<float> seen(kEnvs * static_cast<std::size_t>(SpacesOf(policy).numbers));
    for (int step = 0; step < 50; ++step) {
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = static_cast<float>((i + step) % 2);
      std::vector<std::int32_t> actions(kEnvs);
      starling_policy_act(policy.get(), seen.data(), nullptr, actions.data());
      all.insert(all.end(), actions.begin(), actions.end());
    }
  };
  std::vector<std::int32_t> alone;
  act(alone);
  std::vector<std::vector<std::int32_t>> together(kThreads);
  std::vector<std::thread> threads;
  for (auto& actions : together) threads.emplace_back([&] { act(actions); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& actions : together) EXPECT_EQ(actions, alone);
}

}  // namespace
}  // namespace starling::api
