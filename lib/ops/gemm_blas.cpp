#include "ops/gemm_blas.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "core/error.h"
#include "ops/blas_core.h"

namespace attn {
namespace {

// Sets a variable of the environment until it ends, so that no child inherits what only the
// library was meant to read.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void* open_library() {
  // Left alone it starts threads, which spin over tiny products and lose tenfold; all parallelism
  // is the program's. It reads the variable when it is loaded.
  const Environment one_thread("OPENBLAS_NUM_THREADS", "1");
  std::string reason;
  for (const char* name : {"libopenblas.so.0", ATTNTOOLS_OPENBLAS}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (reason.empty()) reason = dlerror();
  }
  throw DataError("cannot load OpenBLAS: " + reason, {"on Debian: apt-get install libopenblas0"});
}

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

template <class Function>
void need(void* library, const char* name, Function*& routine) {
  routine = find<Function>(library, name);
  if (routine == nullptr) throw DataError(std::string("OpenBLAS has no ") + name);
}

std::string core_of(void* library) {
  auto* const name = find<char*()>(library, "openblas_get_corename");
  return name == nullptr ? "" : name();
}

// The library chooses its kernels when it is loaded. Asking it to choose again takes some 20 us
// and is safe as long as no product runs: hence once, before the first.
void choose_core(void* library) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  auto* const quit = find<void()>(library, "gotoblas_dynamic_quit");
  auto* const init = find<void()>(library, "gotoblas_dynamic_init");
  if (quit == nullptr || init == nullptr) return;  // built for one core only
  const std::string chosen = core_of(library);
  BlasCoreFacts facts;
  facts.library_core = chosen;
  facts.user_has_chosen = std::getenv(kVariable) != nullptr;
  facts.avx512 = cpu_has_avx512();
  facts.avx2 = cpu_has_avx2();
  const std::string wanted(wanted_blas_core(facts));
  if (wanted.empty()) return;
  const Environment core(kVariable, wanted.c_str());
  quit();
  init();
}

// The configuration begins "OpenBLAS 0.3.21 ..." and goes on with build options.
std::string describe(void* library) {
  auto* const config = find<char*()>(library, "openblas_get_config");
  if (config == nullptr) return "BLAS";
  const std::string text = config();
  const std::size_t name_end = text.find(' ');
  const std::size_t version_end =
      name_end == std::string::npos ? name_end : text.find(' ', name_end + 1);
  return text.substr(0, version_end) + " " + core_of(library);
}

// For its first product each thread gets a buffer from OpenBLAS, which tries again for ever where
// there is none to be had (version 0.3.21). So where address space is limited, the buffers of all
// threads that multiply so far are asked for once more beforehand; those that are there already
// are counted twice, on the safe side.
bool require_room_for_buffer() {
  constexpr std::size_t kBuffer = std::size_t{129} << 20;
  static std::mutex guard;
  static std::size_t threads = 0;
  const std::lock_guard<std::mutex> lock(guard);
  const std::size_t wanted = (threads + 1) * kBuffer;
  rlimit limit = {};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  void* room =
      limited ? mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
              : nullptr;
  if (room == MAP_FAILED) {
    throw DataError("not enough address space for OpenBLAS, which needs 129 MiB for each thread",
                    {"ulimit -v sets its limit; --threads 1 needs least"});
  }
  if (limited) munmap(room, wanted);
  ++threads;
  return true;
}

Blas load() {
  void* library = open_library();
  choose_core(library);
  Blas blas;
  need(library, "cblas_sgemm", blas.sgemm);
  need(library, "cblas_dgemm", blas.dgemm);
  need(library, "cblas_sgemv", blas.sgemv);
  need(library, "cblas_dgemv", blas.dgemv);
  blas.description = describe(library);
  return blas;
}

}  // namespace

const Blas& blas() {
  [[maybe_unused]] thread_local const bool has_room = require_room_for_buffer();
  static const Blas library = load();
  return library;
}

}  // namespace attn
