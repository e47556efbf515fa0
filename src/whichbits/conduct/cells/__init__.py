"""A cell as it is measured: kept cold, driven, watched, its tokens counted."""
