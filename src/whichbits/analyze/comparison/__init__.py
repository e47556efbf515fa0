"""Arms of several sources held against each other, and gates over what comes out."""
