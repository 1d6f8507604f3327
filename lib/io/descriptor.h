#pragma once

#include <unistd.h>

#include <utility>

namespace attn {

/// Owns a file descriptor; a negative one is none.
class Descriptor {
 public:
  explicit Descriptor(int id) : id_(id) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return id_; }
  void reset() {
    if (id_ >= 0) close(id_);
    id_ = -1;
  }

 private:
  int id_;
};

}  // namespace attn
