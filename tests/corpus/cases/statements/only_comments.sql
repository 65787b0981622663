-- Comments alone are no script.
--: error sql.no_query - the script is empty
-- nothing
/* at all */ ;;
