// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

// Clang's thread-safety annotations; other compilers see nothing. A guarded member says ML_GUARDED_BY(m_mutex), a
// function that needs the lock says ML_REQUIRES(m_mutex) and ends in "Locked".
#if defined(__clang__)
#define ML_THREAD_ANNOTATION(annotation) __attribute__((annotation))
#else
#define ML_THREAD_ANNOTATION(annotation)
#endif

#define ML_CAPABILITY(name) ML_THREAD_ANNOTATION(capability(name))
#define ML_SCOPED_CAPABILITY ML_THREAD_ANNOTATION(scoped_lockable)
#define ML_GUARDED_BY(mutex) ML_THREAD_ANNOTATION(guarded_by(mutex))
#define ML_REQUIRES(mutex) ML_THREAD_ANNOTATION(requires_capability(mutex))
#define ML_EXCLUDES(mutex) ML_THREAD_ANNOTATION(locks_excluded(mutex))
#define ML_ACQUIRE(...) ML_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ML_RELEASE(...) ML_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

namespace modulelens::base {

/// std::mutex with annotations. Works with std::condition_variable_any. Thread-safe.
class ML_CAPABILITY("mutex") Mutex {
public:
    void lock() ML_ACQUIRE() { m_mutex.lock(); }
    void unlock() ML_RELEASE() { m_mutex.unlock(); }

private:
    std::mutex m_mutex;
};

/// Holds a Mutex for a scope. Confined to its thread.
class ML_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex& mutex) ML_ACQUIRE(mutex) : m_mutex(mutex) { m_mutex.lock(); }
    ~MutexLock() ML_RELEASE() { m_mutex.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

private:
    Mutex& m_mutex;
};

}  // namespace modulelens::base
