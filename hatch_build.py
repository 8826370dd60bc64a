"""Project URLs of a release: those of the repository that builds it.

The release workflow sets TERCET_REPOSITORY to the address of its repository. A build without it has no URLs, since
a copy or a fork cannot know its own.
"""

from __future__ import annotations

import os

from hatchling.metadata.plugin.interface import MetadataHookInterface


def project_urls(repository: str) -> dict[str, str]:
    """Names and addresses for the package's metadata; none without a repository."""
    if not repository:
        return {}
    if not repository.startswith("https://"):
        raise ValueError(f"TERCET_REPOSITORY={repository!r} must begin with https://.")
    base = repository.rstrip("/")
    return {
        "Homepage": base,
        "Documentation": f"{base}/blob/main/docs/index.md",
        "Source": base,
        "Issues": f"{base}/issues",
        "Changelog": f"{base}/blob/main/CHANGELOG.md",
    }


class ProjectURLs(MetadataHookInterface):
    """Fills in the dynamic field `urls`."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set the URLs."""
        metadata["urls"] = project_urls(os.environ.get("TERCET_REPOSITORY", ""))
