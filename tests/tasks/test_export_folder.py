"""Folders that nothing can be exported to are refused before there is anything to export."""

import os

import pytest

from keras_transformer.tasks.task import check_export_folder


def test_a_folder_that_is_there_or_can_be_made_is_right_and_is_not_made(tmp_path):
    check_export_folder(tmp_path)
    check_export_folder(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", [(), ("models",), ("models", "1")])
def test_a_file_is_no_folder(tmp_path, below):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"exported to .*file.*: .*file is not a folder\.$"):
        check_export_folder(tmp_path.joinpath("file", *below))


def test_a_link_to_nowhere_is_no_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"link is not a folder\.$"):
        check_export_folder(tmp_path / "link" / "models")


def test_a_folder_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    refused = []  # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: refused.append((path, mode)))
    with pytest.raises(PermissionError, match=r"exported to .*models: .* may not be written\.$"):
        check_export_folder(tmp_path / "models")
    assert refused == [(tmp_path, os.W_OK | os.X_OK)]
