"""What a picture shows: panels, states, edges, colours and symbols."""
