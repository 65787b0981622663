-- Comments alone are no script.
--: error sql.no_query - Query is empty!
-- nothing
/* at all */ ;;
