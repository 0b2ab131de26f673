"""Files that are either whole or not there, and the user's mistakes in naming them."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from patterns.errors import UserError


class NoRoom(UserError):
    """The disk is full: nothing else would fit, either."""


def write_file(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step: whole or not at all. Raises UserError where the system refuses.

    A link stays and its file is replaced; a device or a pipe stays and is written to.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            replace_file(standing_at(path), content)
    except OSError as error:
        raise unwritable(path, error) from error


def write_new(path: Path, content: bytes) -> None:
    """Put a file with `content` at `path`, whole or not at all, where there is none. Raises UserError."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o666 & ~current_umask())
            os.link(temporary, path)  # unlike a rename, it never takes the place of another file
        finally:
            Path(temporary).unlink(missing_ok=True)
    except FileExistsError:
        raise UserError(f"{path} is there already; it is not overwritten") from None
    except OSError as error:
        raise unwritable(path, error) from error


def replace_file(path: Path, content: bytes) -> None:
    """Put a file with `content` in the place of the one at `path`, if there is one. Raises OSError."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~current_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Put every named content in `folder`, which is made if need be. Raises UserError; returns the paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    for name, content in contents.items():
        write_file(folder / name, content)
    return tuple(folder / name for name in contents)


def check_writable(path: Path, *, folder: bool) -> None:
    """Refuse a place that cannot be written before anything is computed. Raises UserError; makes nothing."""
    try:
        reason = why_not(path, folder)
    except OSError as error:
        raise unwritable(path, error) from error
    if reason:
        raise UserError(f"cannot write {path}: {reason}")


def why_not(path: Path, folder: bool) -> str:
    """Why a file or folder cannot be made at `path`; '' if it can."""
    if folder and path.exists() and not path.is_dir():
        return "it is not a folder"
    if not folder and path.is_dir():
        return "it is a folder"
    if path.exists() and not os.access(path, os.W_OK):
        return "no permission to write to it"
    if path.exists() and not folder and not path.is_file():
        return ""
    above = path if folder else standing_at(path).parent
    if not folder and not above.exists():
        return f"there is no folder {above}"
    standing = next(place for place in (above, *above.parents) if place.exists())
    if not standing.is_dir():
        return f"{standing} is not a folder"
    return "" if os.access(standing, os.W_OK | os.X_OK) else f"no permission to write in {standing}"


def standing_at(path: Path) -> Path:
    """The path of what would be replaced: where a link leads, else the path itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def unwritable(path: Path, error: OSError) -> UserError:
    """The message for a place that the system refuses."""
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return UserError(f"cannot write {path}: there is no folder {path.parent}")
    sort = NoRoom if error.errno in (errno.ENOSPC, errno.EDQUOT) else UserError
    return sort(f"cannot write {path}: {(error.strerror or str(error)).lower()}")


def current_umask() -> int:
    """The process's umask, which can only be read by setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
