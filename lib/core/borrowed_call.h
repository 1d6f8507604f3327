#pragma once

#include <type_traits>

namespace attn {

/// A borrowed function. Unlike std::function it copies nothing and so allocates nothing; what it
/// was made from must live as long.
template <class Signature>
class BorrowedCall;

template <class... Arguments>
class BorrowedCall<void(Arguments...)> {
 public:
  template <class Function>
  requires(!std::is_same_v<Function, BorrowedCall>)
      BorrowedCall(const Function& function)  // NOLINT: a lambda reads as a function
      : function_(&function), call_([](const void* from, Arguments... arguments) {
          (*static_cast<const Function*>(from))(arguments...);
        }) {}

  void operator()(Arguments... arguments) const { call_(function_, arguments...); }

 private:
  const void* function_;
  void (*call_)(const void* from, Arguments... arguments);
};

}  // namespace attn
