// "arcade/pong": two paddles, a ball, first to 21. Positions and speeds are whole numbers of 1/256
// pixel, so an episode is the same, bit for bit, on every machine. Our own rules.
//
// The field is 84 x 84 pixels, one grey channel: a wall in row 6 and one in row 83, the opponent's
// paddle in columns 8 and 9, ours in 74 and 75 (2 x 12 pixels each), the ball (2 x 2). A pixel's
// brightness is the share of it that is covered. Above the upper wall each point is a tick: the
// opponent's from the left, ours from the right. So the picture shows all that matters but the
// ball's heading. Three actions. Reward +1 for a point, -1 for one lost; 21 of either end the
// episode.
//
// One step: our paddle moves 2 pixels up or down, the opponent's moves, then the ball.
//   wall       reflects the ball within the step: the distance beyond the wall becomes a distance
//              back.
//   paddle     the contact is decided where the ball's front reaches the paddle's face. If they
//              touch there, the ball is reflected within the step as at a wall. It is then 1/8
//              pixel per step faster sideways (2.5 pixels at most), and its slope depends only on
//              the point of contact: level in the middle, 45 degrees at the very edge. If they do
//              not touch, nothing stops the ball any more.
//   point      as soon as the ball has left the picture completely. Paddles stay where they are
//              and the ball is served at once.
//   serve      from the middle of the field, 1.25 pixels per step sideways. Draws: the side (0 the
//              opponent's, 1 ours), the slope (at most 45 degrees), the opponent's error.
//   opponent   follows the ball's height, 1 pixel per step at most, and aims to meet it off its
//              middle by its error: up to 8 pixels, drawn when we hit the ball. At 7 or more it
//              misses even a ball that it has followed, so every rally ends. A steep ball is too
//              fast for it.
#pragma once

#include <algorithm>

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct ArcadePong {
  static constexpr int kNoop = 0, kUp = 1, kDown = 2, kNumActions = 3;
  static constexpr int kSide = 84;
  static constexpr int kWinningPoints = 21;

  // All below in 1/256 pixel (speeds: per step), x to the right, y down.
  static constexpr int kPixel = 256;
  static constexpr int kTop = 7 * kPixel, kBottom = 83 * kPixel;  // between the walls
  static constexpr int kBall = 2 * kPixel, kPaddle = 12 * kPixel, kPaddleWidth = 2 * kPixel;
  static constexpr int kOpponentX = 8 * kPixel, kPaddleX = 74 * kPixel;  // their left edges
  static constexpr int kReach = (kPaddle + kBall) / 2;  // distance of middles without contact
  static constexpr int kPaddleSpeed = 2 * kPixel, kOpponentSpeed = kPixel;
  static constexpr int kServeSpeed = 320, kFaster = 32, kTopSpeed = 640;
  static constexpr int kError = 8 * kPixel;

  // The left upper corners of the ball and the upper edges of the paddles.
  int ball_x = 0, ball_y = 0;
  int speed_x = 0, speed_y = 0;
  int paddle = (kTop + kBottom - kPaddle) / 2;
  int opponent = (kTop + kBottom - kPaddle) / 2;
  int error = 0;  // the opponent aims its middle this far above the ball's
  int points = 0, opponent_points = 0;

  static EnvSpec Spec() {
    return {.name = "arcade/pong",
            .height = kSide,
            .width = kSide,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"noop", "up", "down"}};
  }

  template <Chance C>
  constexpr void Reset(C& chance) {
    *this = {};
    Serve(chance);
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    if (action == kUp) paddle = OnField(paddle - kPaddleSpeed);
    if (action == kDown) paddle = OnField(paddle + kPaddleSpeed);
    const int wanted = OnField(ball_y + kBall / 2 - kPaddle / 2 - error);
    opponent += Within(-kOpponentSpeed, wanted - opponent, kOpponentSpeed);
    return MoveBall(chance);
  }

  constexpr void Observe(float* out) const {
    constexpr float kWallGrey = 0.25f, kPointGrey = 0.5f, kPaddleGrey = 0.75f;
    std::fill_n(out, kSide * kSide, 0.0f);
    std::fill_n(out + (kTop / kPixel - 1) * kSide, kSide, kWallGrey);
    std::fill_n(out + kBottom / kPixel * kSide, kSide, kWallGrey);
    for (int row = 2; row <= 3; ++row) {
      for (int i = 0; i < opponent_points; ++i) out[row * kSide + 2 * i] = kPointGrey;
      for (int i = 0; i < points; ++i) out[row * kSide + kSide - 1 - 2 * i] = kPointGrey;
    }
    Draw(kOpponentX, opponent, kPaddleWidth, kPaddle, kPaddleGrey, out);
    Draw(kPaddleX, paddle, kPaddleWidth, kPaddle, kPaddleGrey, out);
    Draw(ball_x, ball_y, kBall, kBall, 1, out);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(ball_x, 1 - kBall, kSide * kPixel - 1);
    state(ball_y, 0, kBottom - kBall);
    state(speed_x, -kTopSpeed, kTopSpeed);
    state(speed_y, -kTopSpeed, kTopSpeed);
    state(paddle, kTop, kBottom - kPaddle);
    state(opponent, kTop, kBottom - kPaddle);
    state(error, -kError, kError);
    state(points, 0, kWinningPoints - 1);
    state(opponent_points, 0, kWinningPoints - 1);
  }

  friend constexpr bool operator==(const ArcadePong&, const ArcadePong&) = default;

 private:
  // By value: GPU code cannot take a reference to the constants above, only read them.
  static constexpr int Within(int low, int value, int high) { return std::clamp(value, low, high); }
  static constexpr int Least(int a, int b) { return std::min(a, b); }

  static constexpr int OnField(int top) { return Within(kTop, top, kBottom - kPaddle); }

  // The height of a ball after reflection, if it would be at `y` without walls.
  static constexpr int BetweenWalls(int y) {
    constexpr int kLowest = kBottom - kBall;
    if (y < kTop) return 2 * kTop - y;
    if (y > kLowest) return 2 * kLowest - y;
    return y;
  }

  template <Chance C>
  constexpr void Serve(C& chance) {
    ball_x = (kSide * kPixel - kBall) / 2;
    ball_y = (kTop + kBottom - kBall) / 2;
    speed_x = chance.Below(2) == 0 ? -kServeSpeed : kServeSpeed;
    speed_y = chance.Between(-kServeSpeed, kServeSpeed + 1);
    DrawError(chance);
  }

  template <Chance C>
  constexpr void DrawError(C& chance) {
    error = chance.Between(-kError, kError + 1);
  }

  template <Chance C>
  constexpr Outcome MoveBall(C& chance) {
    const bool ours = speed_x > 0;  // it flies towards our paddle
    const int face = ours ? kPaddleX - kBall : kOpponentX + kPaddleWidth;  // ball_x at its face
    const int ahead = ours ? face - ball_x : ball_x - face;
    const int speed = ours ? speed_x : -speed_x;
    const int from_y = ball_y;
    // 1. Move, reflected by the walls.
    ball_x += speed_x;
    ball_y = BetweenWalls(from_y + speed_y);
    // 2. If it reaches a paddle's face in this step, it may be hit.
    if (ahead >= 0 && ahead < speed) {
      const int met_y = BetweenWalls(from_y + speed_y * ahead / speed);
      const int off_middle = met_y + kBall / 2 - (ours ? paddle : opponent) - kPaddle / 2;
      if (off_middle > -kReach && off_middle < kReach) {
        if (ours) DrawError(chance);
        ball_x = 2 * face - ball_x;
        const int faster = Least(speed + kFaster, kTopSpeed);
        speed_x = ours ? -faster : faster;
        speed_y = faster * off_middle / kReach;
        return {};
      }
    }
    // 3. Otherwise a wall turns it, or it leaves the picture.
    if (ball_y != from_y + speed_y) speed_y = -speed_y;
    if (ball_x > -kBall && ball_x < kSide * kPixel) return {};
    return Point(ours, chance);
  }

  template <Chance C>
  constexpr Outcome Point(bool lost, C& chance) {
    const float reward = lost ? -1.0f : 1.0f;
    if (++(lost ? opponent_points : points) == kWinningPoints) return {reward, true};
    Serve(chance);
    return {reward, false};
  }

  // The part of pixel `i` that lies in [from, from + size), in 1/256 of a pixel.
  static constexpr int Covered(int i, int from, int size) {
    return std::max(0, std::min((i + 1) * kPixel, from + size) - std::max(i * kPixel, from));
  }

  // Draws a rectangle over `out`; of two greys in a pixel the brighter one stays.
  static constexpr void Draw(int x, int y, int width, int height, float grey, float* out) {
    const int right = Least(kSide, (x + width + kPixel - 1) / kPixel);
    const int bottom = (y + height + kPixel - 1) / kPixel;
    for (int row = y / kPixel; row < bottom; ++row) {
      const int down = Covered(row, y, height);
      for (int column = std::max(x, 0) / kPixel; column < right; ++column) {
        const auto covered = static_cast<float>(down * Covered(column, x, width));
        float& pixel = out[row * kSide + column];
        pixel = std::max(pixel, grey * covered / (kPixel * kPixel));
      }
    }
  }
};

}  // namespace starling::envs
