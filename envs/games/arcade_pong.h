// "arcade/pong": two paddles, a ball, first to 21. Real-valued: places and speeds are whole numbers
// of 1/256 pixel, so an episode is the same, bit for bit, on every machine. Our own rules.
//
// The field is 84 x 84 pixels, one channel, grey: a wall in row 6 and one in row 83, the opponent's
// paddle in columns 8 and 9, ours in 74 and 75 (2 x 12 pixels each), the ball (2 x 2). A pixel is
// as bright as the share of it that is covered. Above the upper wall stand the points, a tick each:
// the opponent's from the left, ours from the right; so all that matters but the ball's heading is
// to be seen. Three actions. Reward +1 for a point, -1 for one lost; 21 of either end the episode.
//
// One step: our paddle moves 2 pixels up or down, the opponent's moves, then the ball.
//   wall       the ball is thrown back within the step: what it would have gone too far it comes
//              back.
//   paddle     met where the ball's front reaches the paddle's face: they touch there or not. If
//              so the ball is thrown back within the step as at a wall, 1/8 pixel per step faster
//              sideways than before (2.5 pixels at most), and its slope is where it was met: level
//              in the middle, 45 degrees where they barely touch, whatever it was before. If not,
//              nothing stops it any more.
//   point      as soon as nothing of the ball is left in the picture. Paddles stay where they are
//              and the ball is served at once.
//   serve      from the middle of the field, 1.25 pixels per step sideways. Drawn: the side (0 the
//              opponent's, 1 ours), the slope (at most 45 degrees), the opponent's error.
//   opponent   it follows the ball's height, coming or going, 1 pixel per step at most, and wants
//              to meet it off its middle by its error: up to 8 pixels, drawn when we hit the ball.
//              At 7 or more it misses even a ball that it has followed, so no rally is for ever.
//              A steep ball is too fast for it.
#pragma once

#include <algorithm>

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct ArcadePong {
  static constexpr int kNoop = 0, kUp = 1, kDown = 2, kNumActions = 3;
  static constexpr int kSide = 84;
  static constexpr int kWinningPoints = 21;

  // All below in 1/256 pixel, x to the right, y down; per step where it is a speed.
  static constexpr int kPixel = 256;
  static constexpr int kTop = 7 * kPixel, kBottom = 83 * kPixel;  // between the walls
  static constexpr int kBall = 2 * kPixel, kPaddle = 12 * kPixel, kPaddleWidth = 2 * kPixel;
  static constexpr int kOpponentX = 8 * kPixel, kPaddleX = 74 * kPixel;  // their left edges
  static constexpr int kReach = (kPaddle + kBall) / 2;  // middles this far apart do not touch
  static constexpr int kPaddleSpeed = 2 * kPixel, kOpponentSpeed = kPixel;
  static constexpr int kServeSpeed = 320, kFaster = 32, kTopSpeed = 640;
  static constexpr int kError = 8 * kPixel;

  // The left upper corners of the ball and the upper edges of the paddles.
  int ball_x = 0, ball_y = 0;
  int speed_x = 0, speed_y = 0;
  int paddle = (kTop + kBottom - kPaddle) / 2;
  int opponent = (kTop + kBottom - kPaddle) / 2;
  int error = 0;  // how far above the ball's middle the opponent wants to have its own
  int points = 0, opponent_points = 0;

  static EnvSpec Spec();

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

  friend constexpr bool operator==(const ArcadePong&, const ArcadePong&) = default;

 private:
  // By value: code for a GPU cannot refer to the constants above, only read them.
  static constexpr int Within(int low, int value, int high) {
    return std::clamp(value, low, high);
  }
  static constexpr int Least(int a, int b) { return std::min(a, b); }

  static constexpr int OnField(int top) { return Within(kTop, top, kBottom - kPaddle); }

  // Where a ball comes to that flew to `y` with walls in between.
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
    const bool ours = speed_x > 0;  // whose paddle it flies to
    const int face = ours ? kPaddleX - kBall : kOpponentX + kPaddleWidth;  // ball_x at its face
    const int ahead = ours ? face - ball_x : ball_x - face;
    const int speed = ours ? speed_x : -speed_x;
    const int from_y = ball_y;
    ball_x += speed_x;
    ball_y = BetweenWalls(from_y + speed_y);
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

  // How much of pixel `i`, as 1/256 of it, lies in [from, from + size).
  static constexpr int Covered(int i, int from, int size) {
    return std::max(0, std::min((i + 1) * kPixel, from + size) - std::max(i * kPixel, from));
  }

  // A rectangle; whatever is covered is drawn over what is there if it is brighter.
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
