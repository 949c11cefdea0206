#include "wire/keys.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

void Write(const fs::path& path, const std::string& text, mode_t mode = 0600) {
  std::ofstream(path) << text;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

using Keys = TempDirTest;

TEST_F(Keys, NewOnesDifferAndComeBackFromTheirFiles) {
  const KeyPair ada = NewKeyPair(), bob = NewKeyPair();
  EXPECT_NE(ada.public_key, bob.public_key);
  EXPECT_NE(ada.public_key, ada.secret_key);
  const KeyFiles files = WriteKeyFiles(dir_ / "new" / "keys", "ada", ada);
  EXPECT_EQ(files.public_file, dir_ / "new" / "keys" / "ada.public");
  EXPECT_EQ(ReadPublicFile(files.public_file), ada.public_key);
  const KeyPair read = ReadSecretFile(files.secret_file);
  EXPECT_EQ(read.public_key, ada.public_key);
  EXPECT_EQ(read.secret_key, ada.secret_key);
  EXPECT_EQ(ModeOf(files.secret_file), 0600u);
  EXPECT_THAT(ReadFile(files.public_file), Not(HasSubstr(ada.secret_key)));
}

TEST_F(Keys, ANewOneReplacesNothing) {
  const KeyPair ada = NewKeyPair();
  const KeyFiles files = WriteKeyFiles(dir_.path(), "ada", ada);
  const auto again = [&] { WriteKeyFiles(dir_.path(), "ada", NewKeyPair()); };
  EXPECT_THAT(ErrorOf(again), AllOf(HasSubstr("ada.public"), HasSubstr("never replaced")));
  fs::remove(files.public_file);
  EXPECT_THAT(ErrorOf(again), AllOf(HasSubstr("ada.secret"), HasSubstr("never replaced")));
  EXPECT_EQ(ReadSecretFile(files.secret_file).secret_key, ada.secret_key);
}

TEST_F(Keys, AreNamedLikeFiles) {
  for (const char* name : {"", "a/b", "../a", ".hidden", "a b", "a\nb"}) {
    EXPECT_THAT(ErrorOf([&] { WriteKeyFiles(dir_.path(), name, NewKeyPair()); }),
                HasSubstr("cannot name a key"))
        << name;
  }
}

TEST_F(Keys, ASecretThatOthersCanReadIsRefused) {
  const KeyFiles files = WriteKeyFiles(dir_.path(), "ada", NewKeyPair());
  constexpr uid_t kSomebody = 1000;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(files.secret_file.c_str(), kSomebody, kSomebody), 0);
  }
  for (const mode_t mode : {0640, 0604, 0644, 0610, 0666}) {
    ASSERT_EQ(::chmod(files.secret_file.c_str(), mode), 0);
    EXPECT_THAT(ErrorOf([&] { ReadSecretFile(files.secret_file); }),
                AllOf(HasSubstr(files.secret_file.string()), HasSubstr("chmod 600")))
        << mode;
  }
  ASSERT_EQ(::chmod(files.secret_file.c_str(), 0400), 0);
  EXPECT_NO_THROW(ReadSecretFile(files.secret_file));
}

// As Kubernetes hands them to a user without rights.
TEST_F(Keys, ASecretOfRootMayBeReadByAGroupOfOurs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of root";
  const KeyFiles files = WriteKeyFiles(dir_.path(), "ada", NewKeyPair());
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  constexpr gid_t kOwn = 1000, kFurther = 2000, kOther = 3000;
  // Whether a user of the groups kOwn and kFurther is content with the file.
  const auto is_private = [&](gid_t group, mode_t mode) {
    EXPECT_EQ(::chown(files.secret_file.c_str(), 0, group), 0);
    EXPECT_EQ(::chmod(files.secret_file.c_str(), mode), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(1, &kFurther) != 0 || ::setgid(kOwn) != 0 || ::setuid(1000) != 0) ::_exit(2);
      const auto read = [&] { ReadSecretFile(files.secret_file); };
      ::_exit(ErrorOf(read).find("users other than its owner") == std::string::npos ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(is_private(kOwn, 0440));
  EXPECT_TRUE(is_private(kFurther, 0640));
  EXPECT_FALSE(is_private(kOther, 0440));
  for (const mode_t mode : {0460, 0444, 0450, 0442}) EXPECT_FALSE(is_private(kOwn, mode)) << mode;
  ASSERT_EQ(::chmod(files.secret_file.c_str(), 0440), 0);  // root needs no group
  EXPECT_THAT(ErrorOf([&] { ReadSecretFile(files.secret_file); }), HasSubstr("chmod 600"));
}

// A secret file has the public key, then the secret one.
TEST_F(Keys, WhatIsNoKeyIsRefusedByName) {
  const KeyPair ada = NewKeyPair(), bob = NewKeyPair();
  const fs::path file = dir_ / "x.secret";
  const auto secret_error = [&](const std::string& text) {
    Write(file, text);
    return ErrorOf([&] { ReadSecretFile(file); });
  };
  EXPECT_THAT(secret_error(""), AllOf(HasSubstr(file.string()), HasSubstr("is no secret key")));
  EXPECT_THAT(secret_error(ada.public_key + "\n"), HasSubstr("is no secret key"));
  EXPECT_THAT(secret_error(ada.public_key + "\n" + ada.secret_key + "x\n"),
              HasSubstr("is no secret key"));
  EXPECT_THAT(secret_error(ada.public_key + "\n" + std::string(40, '"') + "\n"),
              HasSubstr("is no secret key"));
  EXPECT_THAT(secret_error(ada.public_key + "\n" + bob.secret_key + "\n"),
              HasSubstr("do not belong together"));
  EXPECT_THAT(secret_error(std::string(100'000, '#')), HasSubstr("too large"));
  EXPECT_EQ(secret_error("# mine\n\n  " + ada.public_key + " \r\n" + ada.secret_key), "");
  fs::remove(file);
  EXPECT_THAT(ErrorOf([&] { ReadSecretFile(file); }),
              AllOf(HasSubstr(file.string()), HasSubstr("cannot be read")));
  EXPECT_THAT(ErrorOf([&] { ReadPublicFile(file); }), HasSubstr("cannot be read"));
  EXPECT_THAT(ErrorOf([&] { ReadPublicFile(dir_.path()); }), HasSubstr("cannot be read"));
}

TEST_F(Keys, TheAllowlistIsTheReadablePublicFilesOfItsDirectory) {
  const KeyPair ada = NewKeyPair(), bob = NewKeyPair(), eve = NewKeyPair();
  WriteKeyFiles(dir_.path(), "ada", ada);
  WriteKeyFiles(dir_.path(), "bob", bob);
  Write(dir_ / "notes.txt", eve.public_key);
  Write(dir_ / "broken.public", eve.public_key.substr(1));
  const Allowlist list = Allowlist::Read(dir_.path());
  EXPECT_THAT(list.names,
              UnorderedElementsAre(Pair(ada.public_key, "ada"), Pair(bob.public_key, "bob")));
  EXPECT_THAT(list.problems, ElementsAre(HasSubstr((dir_ / "broken.public").string())));
}

TEST_F(Keys, WhatAdmitsNobodyIsNamed) {
  const KeyPair ada = NewKeyPair(), bob = NewKeyPair();
  const auto problem_with = [&](const std::string& text, mode_t mode = 0644) {
    Write(dir_ / "x.public", text, mode);
    const Allowlist list = Allowlist::Read(dir_.path());
    EXPECT_THAT(list.problems, testing::SizeIs(1));
    return list.problems.empty() ? "" : list.problems.front();
  };
  EXPECT_THAT(problem_with(ada.public_key + "\n" + bob.public_key), HasSubstr("has two keys"));
  EXPECT_THAT(problem_with(ada.public_key, 0666), HasSubstr("every user can write to it"));
  WriteKeyFiles(dir_.path(), "ada", ada);
  EXPECT_THAT(problem_with(ada.public_key), HasSubstr("the key of ada, again"));
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  EXPECT_THAT(ErrorOf([&] { Allowlist::Read(dir_.path()); }),
              AllOf(HasSubstr(dir_.path().string()), HasSubstr("every user can write to it")));
}

TEST_F(Keys, ADirectoryThatCannotBeReadAdmitsNobody) {
  EXPECT_THAT(ErrorOf([&] { Allowlist::Read(dir_ / "gone"); }),
              AllOf(HasSubstr((dir_ / "gone").string()), HasSubstr("cannot be read")));
  EXPECT_THAT(Allowlist::Read(dir_.path()).names, IsEmpty());
}

}  // namespace
}  // namespace starling::wire
