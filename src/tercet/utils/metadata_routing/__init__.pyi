# Written by `make names`.
from sklearn.utils.metadata_routing import (
    MetadataRequest,
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)

__all__ = [
    "MetadataRequest",
    "MetadataRouter",
    "MethodMapping",
    "get_routing_for_object",
    "process_routing",
]
