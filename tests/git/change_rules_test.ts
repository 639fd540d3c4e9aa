import { strictEqual as equal } from "node:assert/strict";
import {
  faultOfLink,
  faultOfPath,
  findTwins,
  isLargeFilePointer,
} from "../../src/git/change_rules.ts";
import { utf8 } from "../../src/base/bytes.ts";

for (
  const [path, isFine] of [
    ["README.md", true],
    [".github/workflows/ci.yml", true],
    [".gitignore", true],
    ["src/ü/日本語.txt", true],
    ["a b/c\\d", true],
    ["...", true],
    ["", false],
    ["a//b", false],
    ["/a", false],
    ["a/", false],
    ["./a", false],
    ["a/../b", false],
    [".git", false],
    ["a/.GIT/config", false],
    ["a\u0000b", false],
    ["a\u202eb", false],
    ["a\u200bb", false],
    ["a\nb", false],
    ["x".repeat(4097), false],
  ] as const
) {
  Deno.test(`a change ${isFine ? "may" : "must not"} write ${JSON.stringify(path.slice(0, 40))}`, () => {
    equal(faultOfPath(path) === undefined, isFine);
  });
}

for (
  const [path, target, isFine] of [
    ["link", "README.md", true],
    ["link", "./src/./a", true],
    ["src/link", "../README.md", true],
    ["src/link", "..", true],
    ["a/b/link", "../../c", true],
    ["link", ".", true],
    ["link", "a/...", true],
    ["link", "..", false],
    ["src/link", "../../x", false],
    ["link", "a/..", false],
    ["a/b/link", "../c/../../..", false],
    ["link", "/etc/passwd", false],
    ["link", "\\\\host\\share", false],
    ["link", "C:\\x", false],
    ["link", "..\\x", false],
    ["a/link", "../.git/hooks/pre-commit", false],
    ["link", ".GIT", false],
    ["link", "a\nb", false],
    ["link", "", false],
    ["link", undefined, false],
  ] as const
) {
  const to = JSON.stringify(target);
  Deno.test(`the link ${path} ${isFine ? "may" : "must not"} lead to ${to}`, () => {
    equal(faultOfLink(path, target) === undefined, isFine);
  });
}

Deno.test("two names are twins where one of them is new", async () => {
  const names = ["a", "A", "é", "e\u0301", "straße", "STRASSE"];
  const twins = async (...fresh: string[]) => (await findTwins(names, fresh))?.join(" and ");
  equal(await twins(), undefined);
  equal(await twins("a"), "a and A");
  equal(await twins("A"), "a and A");
  equal(await twins("e\u0301"), "é and e\u0301");
  equal(await twins("straße"), "straße and STRASSE");
});

Deno.test("a pointer of Git LFS is known by its first line", () => {
  equal(isLargeFilePointer(utf8("version https://git-lfs.github.com/spec/v1\noid x\n")), true);
  equal(isLargeFilePointer(utf8("version https://hawser.github.com/spec/v1\noid x\n")), true);
  equal(isLargeFilePointer(utf8("The version https://git-lfs.github.com/spec/v1\n")), false);
});
